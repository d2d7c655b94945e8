// SPDX-License-Identifier: Apache-2.0
/* Private look-ups by key from running servers, in C: look_up DEPLOYMENT KEY... The deployment file says
   where the servers are and which protocol they speak ('pirx deploy' writes one). This program works for
   every protocol. */
#include <pirx/pirx.h>
#include <stdio.h>
#include <string.h>

static int failed(void) {
  const char* message;
  const pirx_status status = pirx_last_error(&message);
  fprintf(stderr, "look_up: %s: %s\n", pirx_status_name(status), message);
  return 2;
}

static int look_up(const pirx_client* client, const char* name) {
  const pirx_bytes key = {name, strlen(name)}; /* secret */
  pirx_answer* answer;
  pirx_record record;
  if (pirx_client_fetch_keys(client, &key, 1, NULL, &answer) != PIRX_OK) return failed();
  if (pirx_answer_record(answer, 0, &record) != PIRX_OK) return failed();
  if (record.found) {
    fwrite(record.data, 1, record.size, stdout);
    putchar('\n');
  } else {
    fprintf(stderr, "look_up: there is no such key\n");
  }
  pirx_answer_free(answer); /* wipes the record */
  return record.found ? 0 : 3;
}

int main(int argc, char** argv) {
  pirx_deployment* deployment;
  pirx_client* client;
  int at, code = 0;
  if (argc < 3) {
    fprintf(stderr, "usage: look_up DEPLOYMENT KEY...\n");
    return 1;
  }
  if (pirx_deployment_load(argv[1], &deployment) != PIRX_OK) return failed();
  if (pirx_client_create(deployment, NULL, NULL, 0, &client) != PIRX_OK) return failed();
  for (at = 2; at < argc && code == 0; ++at) code = look_up(client, argv[at]);
  pirx_client_free(client);
  pirx_deployment_free(deployment);
  return code;
}
