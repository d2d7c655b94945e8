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

int main(int argc, char** argv) {
  pirx_bytes keys[256]; /* secret */
  pirx_deployment* deployment;
  pirx_client* client;
  pirx_answer* answer;
  pirx_summary summary;
  pirx_record record;
  int at, code = 0;
  if (argc < 3 || argc > 258) {
    fprintf(stderr, "usage: look_up DEPLOYMENT KEY...\n(at most 256 keys)\n");
    return 1;
  }
  for (at = 2; at < argc; ++at) {
    keys[at - 2].data = argv[at];
    keys[at - 2].size = strlen(argv[at]);
  }
  if (pirx_deployment_load(argv[1], &deployment) != PIRX_OK) return failed();
  if (pirx_client_create(deployment, NULL, NULL, 0, &client) != PIRX_OK) return failed();
  if (pirx_client_fetch_keys(client, keys, (size_t)argc - 2, NULL, &answer) != PIRX_OK) return failed();
  if (pirx_answer_summary(answer, &summary) != PIRX_OK) return failed();
  for (at = 2; at < argc; ++at) {
    if (pirx_answer_record(answer, (size_t)at - 2, &record) != PIRX_OK) return failed();
    if (record.found) {
      fwrite(record.data, 1, record.size, stdout);
      putchar('\n');
    } else {
      fprintf(stderr, "look_up: there is no such key%s\n",
              summary.certainty == PIRX_PROVEN ? "" : ", if no server lied: nothing proves it");
      code = 3;
    }
  }
  pirx_answer_free(answer); /* wipes the records */
  pirx_client_free(client);
  pirx_deployment_free(deployment);
  return code;
}
