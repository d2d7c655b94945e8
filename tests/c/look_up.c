// SPDX-License-Identifier: Apache-2.0
/* Look-ups by a program in C99 that knows pirx by <pirx/pirx.h> alone, over sockets of its own.

       c_look_up [--fetch] [--protocol NAME] [--option NAME=VALUE] [--wait-for-all] [--prefix TEXT]
                 [--token-file FILE] [--tls-cert FILE --tls-key FILE] DEPLOYMENT (POSITION... | --keys KEY...)

   It prints one line for each record, one for the answer and one for each server. With --fetch the library
   talks to the servers. With --prefix an answer counts only if every record begins with that text. */
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pirx/pirx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { kMaxServers = 16, kMaxWishes = 256 };

/* Ends the program if a call failed, with the status as exit code. */
static void check(pirx_status status, const char* what) {
  const char* message;
  if (status == PIRX_OK) return;
  pirx_last_error(&message);
  fprintf(stderr, "%s: %s: %s\n", what, pirx_status_name(status), message);
  exit((int)status);
}

/* A connection to a server on this machine; -1 if there is none. */
static int connect_to(const char* origin) {
  const struct timeval timeout = {20, 0};
  struct sockaddr_in address;
  const char* port = strrchr(origin, ':');
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons((uint16_t)atoi(port + 1));
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  if (connect(connection, (struct sockaddr*)&address, sizeof address) == 0) return connection;
  close(connection);
  return -1;
}

static int send_all(int connection, const void* data, size_t size) {
  const char* next = data;
  while (size > 0) {
    const ssize_t sent = send(connection, next, size, MSG_NOSIGNAL);
    if (sent <= 0) return 0;
    next += sent;
    size -= (size_t)sent;
  }
  return 1;
}

static int post(int connection, const pirx_message* message, const char* token) {
  char head[8192]; /* room for the longest token */
  const int length =
      snprintf(head, sizeof head,
               "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/octet-stream\r\n"
               "Content-Length: %lu\r\n%s%s%sConnection: close\r\n\r\n",
               message->path, strstr(message->origin, "://") + 3, (unsigned long)message->size,
               token[0] == '\0' ? "" : "Authorization: Bearer ", token, token[0] == '\0' ? "" : "\r\n");
  return length > 0 && (size_t)length < sizeof head && send_all(connection, head, (size_t)length) &&
         send_all(connection, message->data, message->size);
}

/* Reads all that a server sends: at most `limit` bytes, in new memory. */
static char* read_all(int connection, size_t limit, size_t* size) {
  size_t room = 4096;
  char* bytes = malloc(room);
  *size = 0;
  while (bytes != NULL) {
    const ssize_t got = recv(connection, bytes + *size, room - *size - 1, 0);
    if (got <= 0) break;
    *size += (size_t)got;
    if (*size > limit) break;
    if (room - *size < 2) bytes = realloc(bytes, room *= 2);
  }
  if (bytes != NULL) bytes[*size] = '\0';
  return bytes;
}

/* Hands in the answer to a message, whatever it is. */
static void take(pirx_retrieval* retrieval, const pirx_message* message, int connection) {
  const size_t head_limit = 65536;
  size_t size = 0;
  pirx_status status;
  char* answer = NULL;
  char* body = NULL;
  if (connection >= 0) {
    answer = read_all(connection, head_limit + (size_t)message->max_reply_size, &size);
    close(connection);
    if (answer != NULL) body = strstr(answer, "\r\n\r\n");
  }
  if (body == NULL) {
    status = pirx_retrieval_lost(retrieval, message->id, PIRX_UNAVAILABLE, "no answer");
    check(status, "lost");
  } else if (strncmp(answer, "HTTP/1.1 200 ", 13) == 0) {
    body += 4;
    status = pirx_retrieval_receive(retrieval, message->id, body, size - (size_t)(body - answer));
    if (status == PIRX_INVALID_ARGUMENT) check(status, "receive");
  } else {
    const char name[] = "\r\nPirx-Error: ";
    char* reason = strstr(answer, name);
    status = PIRX_INTERNAL;
    if (reason != NULL && reason < body) {
      reason += sizeof name - 1;
      *strstr(reason, "\r\n") = '\0';
      status = pirx_status_from_name(reason);
    }
    check(pirx_retrieval_lost(retrieval, message->id, status, body + 4), "lost");
  }
  free(answer);
}

static void drive(const pirx_client* client, pirx_retrieval* retrieval) {
  const char* token;
  pirx_message sent[kMaxServers];
  int connections[kMaxServers];
  size_t open = 0, taken = 0;
  int waiting, done;
  for (;;) {
    pirx_message message;
    check(pirx_retrieval_next(retrieval, &message), "next");
    if (message.action == PIRX_SEND) {
      connections[open] = connect_to(message.origin);
      check(pirx_client_token(client, message.server, &token), "token");
      if (connections[open] >= 0 && !post(connections[open], &message, token)) {
        close(connections[open]);
        connections[open] = -1;
      }
      sent[open++] = message;
    } else if (message.action == PIRX_RECEIVE) {
      take(retrieval, &sent[taken], connections[taken]);
      ++taken;
      check(pirx_retrieval_waiting(retrieval, &waiting), "waiting");
      if (!waiting) { /* the end of the round, before pirx_retrieval_next() works on */
        for (; taken < open; ++taken) close(connections[taken]);
        open = taken = 0;
      }
    } else {
      break;
    }
  }
  check(pirx_retrieval_done(retrieval, &done), "done");
  if (!done) exit(99);
}

static int begins_with(void* context, const pirx_record* records, size_t count) {
  const char* prefix = context;
  size_t i;
  for (i = 0; i < count; ++i) {
    if (records[i].size < strlen(prefix) || memcmp(records[i].data, prefix, strlen(prefix)) != 0) return 0;
  }
  return 1;
}

static void show(const pirx_answer* answer, size_t servers) {
  static const char* const certainties[] = {"proven", "probable", "unverified"};
  static const char* const statuses[] = {"ok",      "lied",      "suspected", "silent",
                                         "refused", "malformed", "stale"};
  pirx_summary summary;
  pirx_record record;
  size_t count, i, liars[kMaxServers];
  check(pirx_answer_records(answer, &count), "records");
  for (i = 0; i < count; ++i) {
    check(pirx_answer_record(answer, i, &record), "record");
    printf("%s %.*s\n", record.found ? "record" : "missing", (int)record.size,
           record.data == NULL ? "" : (const char*)record.data);
  }
  check(pirx_answer_summary(answer, &summary), "summary");
  printf("answer %s %u %u\n", certainties[summary.certainty], summary.responders, summary.proof_bound);
  for (i = 0; i < servers; ++i) {
    pirx_server_status status;
    check(pirx_answer_server(answer, i, &status), "server");
    printf("server %s\n", statuses[status]);
  }
  check(pirx_answer_liars(answer, liars, kMaxServers, &count), "liars");
  for (i = 0; i < count; ++i) printf("liar %lu\n", (unsigned long)liars[i]);
  if (count > 0) {
    const size_t first = liars[0];
    size_t needed = 0;
    liars[0] = 1000;
    if (pirx_answer_liars(answer, liars, count - 1, &needed) != PIRX_BUFFER_TOO_SMALL) exit(97);
    if (needed != count || liars[0] != 1000 || first >= servers) exit(97);
  }
}

int main(int argc, char** argv) {
  const char* protocol = NULL;
  pirx_option chosen[4];
  size_t chosen_count = 0, count = 0, servers;
  uint64_t positions[kMaxWishes];
  pirx_bytes keys[kMaxWishes];
  int fetch = 0, keyed = 0, at;
  pirx_options options;
  pirx_credentials shown;
  pirx_deployment* deployment;
  pirx_client* client;
  pirx_answer* answer;

  check(pirx_options_init(&options, sizeof options), "options");
  memset(&shown, 0, sizeof shown);
  for (at = 1; at < argc && strncmp(argv[at], "--", 2) == 0; ++at) {
    if (strcmp(argv[at], "--fetch") == 0) fetch = 1;
    if (strcmp(argv[at], "--wait-for-all") == 0) options.wait_for_all = 1;
    if (strcmp(argv[at], "--protocol") == 0) protocol = argv[++at];
    if (strcmp(argv[at], "--max-bytes") == 0) options.max_bytes = strtoul(argv[++at], NULL, 10);
    if (strcmp(argv[at], "--liars") == 0) options.liars = atoi(argv[++at]);
    if (strcmp(argv[at], "--token-file") == 0) shown.token_file = argv[++at];
    if (strcmp(argv[at], "--tls-cert") == 0) shown.certificate_file = argv[++at];
    if (strcmp(argv[at], "--tls-key") == 0) shown.key_file = argv[++at];
    if (strcmp(argv[at], "--prefix") == 0) {
      options.believe = begins_with;
      options.believe_context = argv[++at];
    }
    if (strcmp(argv[at], "--option") == 0) {
      char* equals = strchr(argv[++at], '=');
      *equals = '\0';
      chosen[chosen_count].name = argv[at];
      chosen[chosen_count++].value = equals + 1;
    }
  }
  if (at >= argc) return 98;
  check(pirx_deployment_load(argv[at++], &deployment), "load");
  if (at < argc && strcmp(argv[at], "--keys") == 0) {
    keyed = 1;
    ++at;
  }
  for (; at < argc && count < kMaxWishes; ++at, ++count) {
    positions[count] = strtoul(argv[at], NULL, 10);
    keys[count].data = argv[at];
    keys[count].size = strlen(argv[at]);
  }
  check(pirx_client_create_with(deployment, protocol, chosen, chosen_count, &shown, &client), "client");
  check(pirx_client_servers(client, &servers), "servers");
  if (servers > kMaxServers) { /* the file says how many there are */
    fprintf(stderr, "%lu servers, more than %d\n", (unsigned long)servers, kMaxServers);
    return 98;
  }
  if (fetch) {
    check(keyed ? pirx_client_fetch_keys(client, keys, count, &options, &answer)
                : pirx_client_fetch_positions(client, positions, count, &options, &answer),
          "fetch");
  } else {
    pirx_retrieval* retrieval;
    check(keyed ? pirx_retrieval_begin_keys(client, keys, count, &options, &retrieval)
                : pirx_retrieval_begin_positions(client, positions, count, &options, &retrieval),
          "begin");
    drive(client, retrieval);
    check(pirx_retrieval_finish(retrieval, &answer), "finish");
    check(pirx_retrieval_free(retrieval), "free");
  }
  /* What came before may go before. */
  check(pirx_client_free(client), "free");
  check(pirx_deployment_free(deployment), "free");
  show(answer, servers);
  check(pirx_answer_free(answer), "free");
  return 0;
}
