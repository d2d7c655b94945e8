// SPDX-License-Identifier: Apache-2.0
/* What a caller does wrong is an error code, and nothing else happens. Uses <pirx/pirx.h> alone, and no
   server.

       c_misuse DEPLOYMENT

   DEPLOYMENT names three servers of 127.0.0.1 and one protocol, and its database has positions. */
#include <pirx/pirx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int line, const char* call, pirx_status got, pirx_status wanted) {
  const char* message = NULL;
  if (got != wanted) {
    ++failures;
    fprintf(stderr, "line %d: %s: %s, not %s\n", line, call, pirx_status_name(got), pirx_status_name(wanted));
  }
  if (got != PIRX_OK && (pirx_last_error(&message) != got || message[0] == '\0')) {
    ++failures;
    fprintf(stderr, "line %d: %s: the last error is not that of this call\n", line, call);
  }
}
static void expect_true(int line, const char* what, int holds) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "line %d: not so: %s\n", line, what);
}
#define EXPECT(call, wanted) expect(__LINE__, #call, (call), (wanted))
#define GOOD(call) EXPECT(call, PIRX_OK)
#define BAD(call) EXPECT(call, PIRX_INVALID_ARGUMENT)
#define TRUE(what) expect_true(__LINE__, #what, (what))

static int message_has(const char* part) {
  const char* message;
  pirx_last_error(&message);
  return strstr(message, part) != NULL;
}

static char* read_file(const char* path, size_t* size) {
  const size_t room = 1 << 16;
  char* text = calloc(room, 1);
  FILE* file = fopen(path, "rb");
  if (text == NULL || file == NULL) exit(98);
  *size = fread(text, 1, room - 1, file);
  fclose(file);
  return text;
}

static void test_names(void) {
  const char* message = NULL;
  int i;
  TRUE(pirx_last_error(&message) == PIRX_OK && message[0] == '\0'); /* nothing has failed yet */
  TRUE(pirx_last_error(NULL) == PIRX_OK);
  TRUE(pirx_abi() == PIRX_ABI);
  TRUE(pirx_version()[0] >= '0' && pirx_version()[0] <= '9');
  for (i = PIRX_INVALID_ARGUMENT; i <= PIRX_INTERNAL; ++i) {
    TRUE(pirx_status_from_name(pirx_status_name((pirx_status)i)) == (pirx_status)i);
  }
  /* What pirx_retrieval_lost() refuses, no server can make a program give it. */
  TRUE(pirx_status_from_name(pirx_status_name(PIRX_OK)) == PIRX_INTERNAL);
  TRUE(pirx_status_from_name(pirx_status_name(PIRX_BUFFER_TOO_SMALL)) == PIRX_INTERNAL);
  TRUE(strcmp(pirx_status_name(PIRX_STALE_EPOCH), "StaleEpoch") == 0);
  TRUE(strcmp(pirx_status_name((pirx_status)77), "Unknown") == 0);
  TRUE(pirx_status_from_name(NULL) == PIRX_INTERNAL);
  TRUE(pirx_status_from_name("Nonsense") == PIRX_INTERNAL);
}

static void test_deployments(const char* path) {
  const char* unknown = "{\"pirx_deployment\": 1, \"protocol\": \"nonsense\", \"servers\": []}";
  size_t size, count = 7;
  char* text = read_file(path, &size);
  char* address;
  const char* name = NULL;
  pirx_deployment *deployment = NULL, *other = NULL;
  pirx_database database;
  BAD(pirx_deployment_load(NULL, &deployment));
  BAD(pirx_deployment_load(path, NULL));
  EXPECT(pirx_deployment_load("/nonexistent/file", &deployment), PIRX_UNAVAILABLE);
  BAD(pirx_deployment_parse(NULL, 0, NULL, &deployment));
  BAD(pirx_deployment_parse(text, size, NULL, NULL));
  EXPECT(pirx_deployment_parse("", 0, NULL, &deployment), PIRX_DATA_LOSS);
  EXPECT(pirx_deployment_parse(unknown, strlen(unknown), NULL, &deployment), PIRX_DATA_LOSS);
  TRUE(message_has("download")); /* which protocols there are */
  EXPECT(pirx_deployment_parse(text, size / 2, NULL, &deployment), PIRX_DATA_LOSS);
  TRUE(deployment == NULL);
  GOOD(pirx_deployment_load(path, &deployment));
  GOOD(pirx_deployment_parse(text, size, NULL, &other));
  TRUE(deployment != other);

  GOOD(pirx_deployment_protocols(deployment, &count));
  TRUE(count == 1);
  BAD(pirx_deployment_protocols(deployment, NULL));
  BAD(pirx_deployment_protocols(NULL, &count));
  GOOD(pirx_deployment_protocol(deployment, 0, &name));
  TRUE(strcmp(name, "goldberg") == 0);
  EXPECT(pirx_deployment_protocol(deployment, 1, &name), PIRX_OUT_OF_RANGE);
  BAD(pirx_deployment_protocol(deployment, 0, NULL));
  GOOD(pirx_deployment_database(deployment, &database));
  TRUE(database.records == 500 && database.epoch == 1 && database.keyed == 0 && database.record_bytes > 20);
  BAD(pirx_deployment_database(deployment, NULL));

  GOOD(pirx_deployment_free(other));
  BAD(pirx_deployment_free(other));
  BAD(pirx_deployment_protocols(other, &count));
  GOOD(pirx_deployment_free(NULL));
  GOOD(pirx_deployment_protocols(deployment, &count)); /* the other one still works */
  GOOD(pirx_deployment_free(deployment));

  /* Plain HTTP to another machine, and one server under two names. */
  address = strstr(text, "127.0.0.1");
  memcpy(address, "192.0.2.1", 9);
  BAD(pirx_deployment_parse(text, size, NULL, &deployment));
  TRUE(message_has("plaintext"));
  free(text);
}

static void test_clients(const char* path) {
  const pirx_option unknown = {"nonsense", "on"}, empty = {"seeded", NULL};
  const pirx_option twice[] = {{"seeded", "on"}, {"seeded", "on"}};
  pirx_deployment* deployment;
  pirx_client *client = NULL, *other;
  pirx_server server;
  const char* warning;
  size_t count;
  int here = 0;
  GOOD(pirx_deployment_load(path, &deployment));
  BAD(pirx_client_create(NULL, NULL, NULL, 0, &client));
  BAD(pirx_client_create(deployment, NULL, NULL, 0, NULL));
  BAD(pirx_client_create(deployment, "spiral", NULL, 0, &client));
  BAD(pirx_client_create(deployment, NULL, NULL, 1, &client));
  BAD(pirx_client_create(deployment, NULL, &unknown, 1, &client));
  TRUE(message_has("nonsense"));
  BAD(pirx_client_create(deployment, NULL, &empty, 1, &client));
  BAD(pirx_client_create(deployment, NULL, twice, 2, &client));
  TRUE(client == NULL);
  GOOD(pirx_client_create(deployment, "goldberg", twice, 1, &client));
  GOOD(pirx_client_create(deployment, NULL, NULL, 0, &other));

  GOOD(pirx_client_servers(client, &count));
  TRUE(count == 3);
  BAD(pirx_client_servers(client, NULL));
  GOOD(pirx_client_server(client, 2, &server));
  TRUE(strncmp(server.origin, "http://127.0.0.1:", 17) == 0 && strcmp(server.path, "/v1/query") == 0);
  TRUE(server.ca_file[0] == '\0' && server.allow_tls_1_2 == 0);
  EXPECT(pirx_client_server(client, 3, &server), PIRX_OUT_OF_RANGE);
  BAD(pirx_client_server(client, 0, NULL));
  GOOD(pirx_client_warning(client, &warning));
  TRUE(warning[0] == '\0');
  BAD(pirx_client_warning(client, NULL));

  /* Objects of another kind, of nobody, and freed ones. */
  BAD(pirx_client_servers((const pirx_client*)(const void*)deployment, &count));
  BAD(pirx_deployment_protocols((const pirx_deployment*)(const void*)client, &count));
  BAD(pirx_client_servers((const pirx_client*)(const void*)&here, &count));
  BAD(pirx_deployment_free((pirx_deployment*)(void*)client));
  BAD(pirx_client_free((pirx_client*)(void*)&here));
  GOOD(pirx_client_free(other));
  BAD(pirx_client_free(other));
  BAD(pirx_client_servers(other, &count));
  GOOD(pirx_deployment_free(deployment));
  GOOD(pirx_client_servers(client, &count));
  GOOD(pirx_client_free(client));
  GOOD(pirx_client_free(NULL));
}

/* What is shown to servers: every mistake is told without the token. */
static void test_credentials(const char* path) {
  static const char* const wrong[] = {"", "s3cret", "127.0.0.1:1 s3cret", "http://127.0.0.1:1 s3cret more",
                                      "http://a:1 s3cret\nhttp://b:1 s3cret"};
  static const char right[] = "http://127.0.0.1:1 s3cret\nand what lies behind the end";
  pirx_credentials shown;
  pirx_deployment* deployment;
  pirx_client* client = NULL;
  const char* token;
  size_t i;
  GOOD(pirx_deployment_load(path, &deployment));
  memset(&shown, 0, sizeof shown);
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    shown.tokens = wrong[i];
    shown.tokens_size = strlen(wrong[i]);
    BAD(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client));
    TRUE(message_has("token") && !message_has("s3cret"));
  }
  shown.tokens = right;
  shown.tokens_size = strlen("http://127.0.0.1:1 s3cret");
  shown.token_file = path;
  BAD(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client));
  shown.token_file = NULL;
  shown.key_file = path;
  BAD(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client));
  shown.key_file = NULL;
  shown.certificate_file = path;
  BAD(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client));
  BAD(pirx_client_create_with(deployment, NULL, NULL, 0, NULL, NULL));
  memset(&shown, 0, sizeof shown);
  shown.tokens_size = 5;
  BAD(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client));
  shown.tokens_size = 0;
  shown.token_file = "";
  BAD(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client));
  shown.token_file = NULL;
  shown.certificate_file = shown.key_file = "";
  BAD(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client));
  shown.certificate_file = shown.key_file = NULL;
  shown.token_file = "/nowhere/tokens";
  EXPECT(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client), PIRX_UNAVAILABLE);
  TRUE(client == NULL);
  shown.token_file = NULL;
  shown.tokens = right;
  shown.tokens_size = strlen("http://127.0.0.1:1 s3cret");
  GOOD(pirx_client_create_with(deployment, NULL, NULL, 0, &shown, &client));
  for (i = 0; i < 3; ++i) {
    GOOD(pirx_client_token(client, i, &token));
    TRUE(token[0] == '\0'); /* it is another server's */
  }
  EXPECT(pirx_client_token(client, 3, &token), PIRX_OUT_OF_RANGE);
  BAD(pirx_client_token(client, 0, NULL));
  BAD(pirx_client_token(NULL, 0, &token));
  GOOD(pirx_client_free(client));
  BAD(pirx_client_token(client, 0, &token));
  GOOD(pirx_deployment_free(deployment));
}

static int never_called(void* context, const pirx_record* records, size_t count) {
  (void)records;
  (void)count;
  *(int*)context = 1;
  return 0;
}

static void test_options(const pirx_client* client) {
  const uint64_t position = 3;
  pirx_retrieval* retrieval = NULL;
  struct {
    pirx_options options;
    unsigned char later[16];
  } grown;
  pirx_options options;
  BAD(pirx_options_init(NULL, sizeof options));
  BAD(pirx_options_init(&options, sizeof options - 1));
  GOOD(pirx_options_init(&options, sizeof options));
  TRUE(options.struct_size == sizeof options && options.liars == -1 && options.rounds == 0);
  options.struct_size = 0;
  BAD(pirx_retrieval_begin_positions(client, &position, 1, &options, &retrieval));
  options.struct_size = sizeof options;
  options.liars = -2;
  BAD(pirx_retrieval_begin_positions(client, &position, 1, &options, &retrieval));
  options.liars = 3; /* of three servers */
  BAD(pirx_retrieval_begin_positions(client, &position, 1, &options, &retrieval));
  options.liars = -1;
  options.rounds = 9;
  BAD(pirx_retrieval_begin_positions(client, &position, 1, &options, &retrieval));
  TRUE(retrieval == NULL);
  /* A program with a newer header: what it leaves alone is no mistake. */
  GOOD(pirx_options_init(&grown.options, sizeof grown));
  GOOD(pirx_retrieval_begin_positions(client, &position, 1, &grown.options, &retrieval));
  GOOD(pirx_retrieval_free(retrieval));
  grown.later[5] = 1;
  BAD(pirx_retrieval_begin_positions(client, &position, 1, &grown.options, &retrieval));
}

static void test_wishes(const pirx_client* client) {
  static uint64_t many[PIRX_MAX_WISHES + 1];
  const uint64_t position = 3;
  const pirx_bytes key = {"key3", 4}, no_key = {NULL, 4};
  pirx_retrieval* retrieval = NULL;
  pirx_answer* answer = NULL;
  BAD(pirx_retrieval_begin_positions(NULL, &position, 1, NULL, &retrieval));
  BAD(pirx_retrieval_begin_positions(client, NULL, 1, NULL, &retrieval));
  BAD(pirx_retrieval_begin_positions(client, &position, 0, NULL, &retrieval));
  BAD(pirx_retrieval_begin_positions(client, many, PIRX_MAX_WISHES + 1, NULL, &retrieval));
  BAD(pirx_retrieval_begin_positions(client, &position, 1, NULL, NULL));
  BAD(pirx_retrieval_begin_keys(client, NULL, 1, NULL, &retrieval));
  BAD(pirx_retrieval_begin_keys(client, &no_key, 1, NULL, &retrieval));
  BAD(pirx_retrieval_begin_keys(client, &key, 1, NULL, &retrieval)); /* the database has positions */
  BAD(pirx_retrieval_begin_keys(client, &key, SIZE_MAX, NULL, &retrieval));
  TRUE(retrieval == NULL);
  if (pirx_has_http()) {
    BAD(pirx_client_fetch_positions(NULL, &position, 1, NULL, &answer));
    BAD(pirx_client_fetch_positions(client, &position, 0, NULL, &answer));
    BAD(pirx_client_fetch_positions(client, &position, 1, NULL, NULL));
    BAD(pirx_client_fetch_keys(client, &key, 1, NULL, &answer));
  } else {
    EXPECT(pirx_client_fetch_positions(client, &position, 1, NULL, &answer), PIRX_UNAVAILABLE);
    EXPECT(pirx_client_fetch_keys(client, &key, 1, NULL, &answer), PIRX_UNAVAILABLE);
  }
  TRUE(answer == NULL);
}

static void test_order(const pirx_client* client) {
  const uint64_t positions[2] = {3, 3};
  pirx_retrieval *retrieval, *other;
  pirx_message messages[3], message, foreign;
  pirx_answer* answer = NULL;
  size_t i;
  int done = 7;
  int believed = 0;
  void* too_long;
  pirx_options options;
  GOOD(pirx_options_init(&options, sizeof options));
  options.believe = never_called;
  options.believe_context = &believed;
  GOOD(pirx_retrieval_begin_positions(client, positions, 2, &options, &retrieval));
  GOOD(pirx_retrieval_begin_positions(client, positions, 1, NULL, &other));
  GOOD(pirx_retrieval_next(other, &foreign));

  BAD(pirx_retrieval_next(NULL, &message));
  BAD(pirx_retrieval_next(retrieval, NULL));
  BAD(pirx_retrieval_finish(retrieval, &answer)); /* too early */
  BAD(pirx_retrieval_receive(retrieval, 0, "x", 1));
  for (i = 0; i < 3; ++i) {
    GOOD(pirx_retrieval_next(retrieval, &messages[i]));
    TRUE(messages[i].action == PIRX_SEND && messages[i].server == i && messages[i].id != 0);
    TRUE(messages[i].size > 80 && messages[i].data != NULL && messages[i].max_reply_size > 80);
    TRUE(memcmp(messages[i].data, "PIRX", 4) == 0);
    TRUE(strcmp(messages[i].path, "/v1/query") == 0);
    BAD(pirx_retrieval_lost(retrieval, messages[i].id + 1, PIRX_UNAVAILABLE, NULL)); /* not sent yet */
  }
  GOOD(pirx_retrieval_next(retrieval, &message));
  TRUE(message.action == PIRX_RECEIVE && message.data == NULL && message.id == 0);
  GOOD(pirx_retrieval_next(retrieval, &message)); /* as often as one likes */
  TRUE(message.action == PIRX_RECEIVE);
  GOOD(pirx_retrieval_done(retrieval, &done));
  TRUE(done == 0);
  GOOD(pirx_retrieval_waiting(retrieval, &done));
  TRUE(done == 1);
  BAD(pirx_retrieval_done(retrieval, NULL));
  BAD(pirx_retrieval_waiting(retrieval, NULL));
  BAD(pirx_retrieval_waiting(NULL, &done));
  BAD(pirx_retrieval_finish(retrieval, &answer));

  /* Replies that nobody awaits. */
  BAD(pirx_retrieval_receive(retrieval, foreign.id, "x", 1));
  BAD(pirx_retrieval_receive(retrieval, UINT64_MAX, "x", 1));
  BAD(pirx_retrieval_receive(retrieval, messages[0].id, NULL, 1));
  BAD(pirx_retrieval_lost(retrieval, messages[0].id, PIRX_OK, NULL));
  BAD(pirx_retrieval_lost(retrieval, messages[0].id, PIRX_BUFFER_TOO_SMALL, NULL));
  BAD(pirx_retrieval_lost(retrieval, messages[0].id, (pirx_status)77, NULL));

  /* Replies that are none: they count as lost. */
  EXPECT(pirx_retrieval_receive(retrieval, messages[0].id, NULL, 0), PIRX_DATA_LOSS);
  BAD(pirx_retrieval_receive(retrieval, messages[0].id, NULL, 0)); /* the second time */
  BAD(pirx_retrieval_lost(retrieval, messages[0].id, PIRX_UNAVAILABLE, NULL));
  too_long = calloc((size_t)messages[1].max_reply_size + 1, 1);
  EXPECT(pirx_retrieval_receive(retrieval, messages[1].id, too_long, (size_t)messages[1].max_reply_size + 1),
         PIRX_DATA_LOSS);
  free(too_long);
  GOOD(pirx_retrieval_lost(retrieval, messages[2].id, PIRX_UNAUTHENTICATED, "no \x1b[2J token"));
  GOOD(pirx_retrieval_waiting(retrieval, &done));
  TRUE(done == 0);
  GOOD(pirx_retrieval_next(retrieval, &message));
  TRUE(message.action == PIRX_FINISH);
  GOOD(pirx_retrieval_done(retrieval, &done));
  TRUE(done == 1);
  BAD(pirx_retrieval_finish(retrieval, NULL));
  BAD(pirx_retrieval_finish(NULL, &answer));
  TRUE(pirx_retrieval_finish(retrieval, &answer) != PIRX_OK && answer == NULL);
  TRUE(message_has("no ?[2J token") && message_has("longer than any valid"));
  TRUE(believed == 0);

  /* After the end. */
  BAD(pirx_retrieval_finish(retrieval, &answer));
  BAD(pirx_retrieval_next(retrieval, &message));
  BAD(pirx_retrieval_receive(retrieval, messages[0].id, "x", 1));
  GOOD(pirx_retrieval_done(retrieval, &done));
  TRUE(done == 0);
  TRUE(memcmp(messages[2].data, "PIRX", 4) == 0); /* valid until the retrieval is freed */
  GOOD(pirx_retrieval_free(retrieval));
  BAD(pirx_retrieval_free(retrieval));
  BAD(pirx_retrieval_next(retrieval, &message));
  GOOD(pirx_retrieval_free(other));
  GOOD(pirx_retrieval_free(NULL));
}

static void test_answers(pirx_client* client) {
  size_t count;
  pirx_record record;
  pirx_summary summary;
  pirx_server_status status;
  pirx_answer* wrong = (pirx_answer*)(void*)client;
  BAD(pirx_answer_records(NULL, &count));
  BAD(pirx_answer_records(wrong, &count));
  BAD(pirx_answer_record(NULL, 0, &record));
  BAD(pirx_answer_summary(NULL, &summary));
  BAD(pirx_answer_server(NULL, 0, &status));
  BAD(pirx_answer_liars(NULL, &count, 1, &count));
  BAD(pirx_answer_free(wrong));
  GOOD(pirx_answer_free(NULL));
}

int main(int argc, char** argv) {
  pirx_deployment* deployment;
  pirx_client* client;
  pirx_retrieval* retrieval;
  pirx_message message;
  const uint64_t position = 3;
  if (argc != 2) return 98;
  test_names();
  test_deployments(argv[1]);
  test_clients(argv[1]);
  test_credentials(argv[1]);
  GOOD(pirx_deployment_load(argv[1], &deployment));
  GOOD(pirx_client_create(deployment, NULL, NULL, 0, &client));
  test_options(client);
  test_wishes(client);
  test_order(client);
  test_answers(client);
  /* Objects may be freed in any order. */
  GOOD(pirx_retrieval_begin_positions(client, &position, 1, NULL, &retrieval));
  GOOD(pirx_client_free(client));
  GOOD(pirx_deployment_free(deployment));
  BAD(pirx_retrieval_begin_positions(client, &position, 1, NULL, &retrieval));
  GOOD(pirx_retrieval_next(retrieval, &message));
  TRUE(message.action == PIRX_SEND);
  GOOD(pirx_retrieval_free(retrieval));
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
