// SPDX-License-Identifier: Apache-2.0
/* pirx.h: private look-ups from C.

   A program fetches records of a database from servers, by position or by key, and the servers learn nothing
   about which records. This header is all that a C program needs. It is C99 and includes only <stddef.h> and
   <stdint.h>. Link -lpirx (`pkg-config --cflags --libs pirx-c`, or the target pirx::c of CMake).
   docs/c_interface.md has two programs to start from.

   There are four kinds of objects, in the order in which a program meets them:

     pirx_deployment   what a deployment file says: which servers hold which database, and how to ask them
     pirx_client       asks the servers of one deployment, and keeps what many look-ups use, such as keys
     pirx_retrieval    one look-up in progress, of one record or of several
     pirx_answer       what it found

   The shortest program lets the library talk to the servers (every call returns PIRX_OK if all is well):

     pirx_deployment* deployment;
     pirx_client* client;
     pirx_answer* answer;
     pirx_record record;
     uint64_t position = 417;
     pirx_deployment_load("deployment.json", &deployment);
     pirx_client_create(deployment, NULL, NULL, 0, &client);
     pirx_client_fetch_positions(client, &position, 1, NULL, &answer);
     pirx_answer_record(answer, 0, &record);         the record: record.size bytes at record.data

   A program with its own way to the servers replaces pirx_client_fetch_positions by a loop. The library then
   opens no sockets and starts no threads but OpenMP's. It says what to send, and takes what came back.

     pirx_retrieval_begin_positions(client, &position, 1, NULL, &retrieval);
     for (;;) {
       pirx_retrieval_next(retrieval, &message);
       if (message.action == PIRX_SEND)         POST message.size bytes at message.data to the server
       else if (message.action == PIRX_RECEIVE) wait, then pirx_retrieval_receive or pirx_retrieval_lost
       else break;
     }
     pirx_retrieval_finish(retrieval, &answer);

   ERRORS. A function that can fail returns a pirx_status, and PIRX_OK is 0. It writes its results only if it
   returns PIRX_OK. Otherwise pirx_last_error() tells the status, and a message for people, of the last call
   in this thread that failed. (A returned status cannot be overlooked as easily as a message that must be
   freed, and a message for each thread needs no memory of the caller. OpenSSL, libgit2 and the C library
   itself do the same.) No message holds a position, a key or a record. No C++ exception leaves the library.
   A null pointer where an object or a place to write is needed is PIRX_INVALID_ARGUMENT.

   OBJECTS are freed by the function that ends in _free, in any order: an answer stays valid after its
   retrieval, a retrieval after its client, a client after its deployment. Every object has a number, which
   is looked up before the object is used and is never used again. So an object that was freed before, or is
   of another kind, is PIRX_INVALID_ARGUMENT in every function, in every build, and nothing else happens.
   Freeing wipes what the object knew of positions, keys and records. An object that is not freed is a leak.

   VIEWS. Where a function gives a pointer to text or bytes, they belong to the object that was asked, and are
   valid until that is freed. Do not free them. Copy a record to keep it. Texts end with a zero byte.
   What a caller passes in is copied; it may be freed when the function returns.

   THREADS. A deployment, a client and an answer may be used by any threads at the same time. A retrieval is
   for one thread at a time: a call on it while another thread is in one is PIRX_INVALID_ARGUMENT, except
   pirx_retrieval_free(), which also ends the views that the other call is about to give. In a child of fork,
   look-ups of the parent's client are PIRX_INVALID_ARGUMENT: make a new one. Fork only while no other thread
   is in a call: it may hold a lock of OpenSSL, for which the child then waits for ever, past every deadline
   and in exit(), too. Where that may be, call exec first. In a child, pirx computes on one thread if its
   parent has used it: OpenMP's threads do not survive a fork.
   While a thread is in a call, do not cancel it, and do not end it or jump out of it from a function of yours
   that the library calls (pthread_cancel, pthread_exit, longjmp). End look-ups before the process ends, by
   pirx_options.stop for example: in exit(), OpenSSL frees what they use.

   STRUCTS that this header defines never change while PIRX_ABI stays the same. Only pirx_options may grow at
   its end. */
#ifndef PIRX_PIRX_H
#define PIRX_PIRX_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PIRX_API __attribute__((visibility("default")))
#else
#define PIRX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions and errors ---- */

/* The number of this interface. A program that was compiled with a header of the same number works with the
   library (see "ABI" in docs/c_interface.md). */
#define PIRX_ABI 1

/* PIRX_ABI of the library that runs, which may be another than that of the header. */
PIRX_API unsigned pirx_abi(void);
/* The library's version, such as "1.2.3". Valid for ever. */
PIRX_API const char* pirx_version(void);

/* What became of a call. The numbers stay the same for ever; new ones may be added at the end. */
typedef enum pirx_status {
  PIRX_OK = 0,
  PIRX_INVALID_ARGUMENT = 1,   /* the caller made a mistake; nothing has changed */
  PIRX_OUT_OF_RANGE = 2,       /* there is no such position, or no such number of a server or a wish */
  PIRX_DATA_LOSS = 3,          /* bytes that came from a file or a server are not what they should be */
  PIRX_UNAVAILABLE = 4,        /* a file, a server or the system's randomness is not there; or time was up */
  PIRX_RESOURCE_EXHAUSTED = 5, /* memory, or a limit that the caller set */
  PIRX_UNAUTHENTICATED = 6,    /* a server wants a token; or TLS or a publisher's signature is not right */
  PIRX_STALE_EPOCH = 7,      /* the servers have another version of the database: get a new deployment file */
  PIRX_UNDECODABLE = 8,      /* too many servers lied, too few replied, or there was no time to decode */
  PIRX_INTERNAL = 9,         /* a defect of this library, or one that a server reports of itself */
  PIRX_BUFFER_TOO_SMALL = 10 /* the caller's memory is too short; the function says how much it needs */
} pirx_status;

/* The name of a status, such as "StaleEpoch": "Ok" for PIRX_OK, "Unknown" for any other number. Valid
   for ever. */
PIRX_API const char* pirx_status_name(pirx_status status);
/* The status with that name. Servers name the reason of a refusal in the HTTP header Pirx-Error; this turns
   its value into what pirx_retrieval_lost() takes. PIRX_INTERNAL for NULL and for any other name,
   "Ok" and "BufferTooSmall" among them, which a server has no reason to say. */
PIRX_API pirx_status pirx_status_from_name(const char* name);

/* The status of the last call in this thread that failed; PIRX_OK if none has.
   On output *message is what was wrong and what to do about it, empty if no call has failed. It is valid
   until the next call in this thread fails, and in this thread only. `message` may be NULL. */
PIRX_API pirx_status pirx_last_error(const char** message);

/* ---- Deployments ---- */

/* What a deployment file says. Never changes. A client trusts it, so get the file from somebody you trust. */
typedef struct pirx_deployment pirx_deployment;

/* Reads a deployment file ('pirx deploy' writes one).
   On input `path` is the file's name. On output *deployment is new: free it.
   Errors: UNAVAILABLE, there is no such file or it cannot be read. DATA_LOSS, it is no deployment file, or
   one of another version, or for a protocol that this library does not have (the message says which it has).
   INVALID_ARGUMENT, its parts do not fit each other, or a server would be asked over plain HTTP beyond this
   machine and the file does not allow it. If the file pins the publisher of its database: UNAUTHENTICATED,
   the publisher did not sign its manifest. STALE_EPOCH, the manifest is for something else than the file. */
PIRX_API pirx_status pirx_deployment_load(const char* path, pirx_deployment** deployment);

/* Reads the text of a deployment file from memory.
   On input `text` has `size` bytes and needs no zero byte. Names of certificate files in it are relative to
   `folder`; NULL stands for the current folder. Else as pirx_deployment_load(), but never UNAVAILABLE. */
PIRX_API pirx_status pirx_deployment_parse(const char* text, size_t size, const char* folder,
                                           pirx_deployment** deployment);

/* The number of protocols by which the database is served: at least 1. */
PIRX_API pirx_status pirx_deployment_protocols(const pirx_deployment* deployment, size_t* count);
/* The name of a protocol of the deployment, as pirx_client_create() takes it: `index` counts from 0, in the
   order of the file. OUT_OF_RANGE: there are not so many. */
PIRX_API pirx_status pirx_deployment_protocol(const pirx_deployment* deployment, size_t index,
                                              const char** name);

/* The database that the servers hold. */
typedef struct pirx_database {
  uint8_t identity[32];  /* names the database and its content */
  uint64_t epoch;        /* counts versions of the database upwards */
  uint64_t records;      /* the number of records; positions are 0 to records - 1 */
  uint64_t record_bytes; /* the length of the longest record */
  int keyed;             /* 1: records are asked for by key. 0: by position */
} pirx_database;

PIRX_API pirx_status pirx_deployment_database(const pirx_deployment* deployment, pirx_database* database);

/* NULL is allowed and does nothing. */
PIRX_API pirx_status pirx_deployment_free(pirx_deployment* deployment);

/* ---- Clients ---- */

/* Asks the servers of one protocol of a deployment. Make one, and use it for all look-ups: in some protocols
   it holds keys that take seconds to make or megabytes to send. A server that such keys were sent to can tell
   that look-ups come from one client, but never what they are for. */
typedef struct pirx_client pirx_client;

/* An option of a protocol's client, as `pirx get --help` lists them: {"seeded", "on"}. */
typedef struct pirx_option {
  const char* name;
  const char* value;
} pirx_option;

/* Makes a client. Keys, in protocols whose clients have some, are made by the first look-up.
   On input `protocol` is one that the deployment names; NULL: the only one. `options` are `option_count`
   options, NULL if there are none. On output *client is new: free it.
   Errors: INVALID_ARGUMENT, the deployment has no such protocol, or several and none was named; the protocol
   has no such option; or the servers' plan would not hide what is asked for. */
PIRX_API pirx_status pirx_client_create(const pirx_deployment* deployment, const char* protocol,
                                        const pirx_option* options, size_t option_count,
                                        pirx_client** client);

/* What a client shows to servers that do not answer everyone. NULL stands for nothing. */
typedef struct pirx_credentials {
  const char* tokens;     /* the text of a token file: lines "URL TOKEN", URL being scheme, host and port
                             of a server; or, for one server only, a token alone. Secret */
  size_t tokens_size;     /* the length of `tokens` in bytes; it needs no zero byte */
  const char* token_file; /* in place of `tokens`, the name of such a file, of at most 1 MiB */
  const char* certificate_file; /* PEM file of the client's certificate, for https servers that want one */
  const char* key_file;         /* PEM file of its private key, without a password */
} pirx_credentials;

/* As pirx_client_create(), for servers that want to know who asks. They then know who asks, but still not
   for what. On input `credentials` is NULL if there are none. The library copies the tokens, and wipes its
   copies when the client and its retrievals are freed. It reads the files of certificate and key when it
   calls a server. Further errors: UNAVAILABLE, the token file cannot be read. INVALID_ARGUMENT, a line of the
   tokens is wrong (the message has its number, but not its text), both kinds of tokens are given, only one of
   certificate_file and key_file is, or a name is empty. pirx_client_fetch_... says whether these two can be
   read. */
PIRX_API pirx_status pirx_client_create_with(const pirx_deployment* deployment, const char* protocol,
                                             const pirx_option* options, size_t option_count,
                                             const pirx_credentials* credentials, pirx_client** client);

/* What the user should be told before the client is used, such as that an experimental plan is weak. Usually
   empty. */
PIRX_API pirx_status pirx_client_warning(const pirx_client* client, const char** text);

/* The number of servers, which are numbered from 0, as in the deployment file. */
PIRX_API pirx_status pirx_client_servers(const pirx_client* client, size_t* count);

/* How to reach a server. */
typedef struct pirx_server {
  const char* origin;  /* scheme, host and port: "https://pir1.example.org:443" */
  const char* path;    /* where its messages are posted: "/v1/query" */
  const char* ca_file; /* PEM file of the certificate authorities to trust; empty: the system's */
  int allow_tls_1_2;   /* 1: TLS 1.2 is enough for this server. 0: want TLS 1.3 */
} pirx_server;

/* OUT_OF_RANGE: there are not so many servers. */
PIRX_API pirx_status pirx_client_server(const pirx_client* client, size_t index, pirx_server* server);

/* The token for a server, empty if it has none. Whoever moves the messages sends it to that server, and to no
   other, in the header "Authorization: Bearer TOKEN". It is wiped when the client is freed. OUT_OF_RANGE:
   there are not so many servers. */
PIRX_API pirx_status pirx_client_token(const pirx_client* client, size_t index, const char** token);

/* NULL is allowed and does nothing. */
PIRX_API pirx_status pirx_client_free(pirx_client* client);

/* ---- What a look-up may be told ---- */

/* How sure an answer is. With one server, PROVEN means that the records are those of the database that the
   deployment identifies; that identity may be the server's own word. */
typedef enum pirx_certainty {
  PIRX_PROVEN = 0,    /* right, unless more servers lied than the answer's proof_bound */
  PIRX_PROBABLE = 1,  /* not proven: the records' digests or the caller's `believe` decided */
  PIRX_UNVERIFIED = 2 /* just enough servers replied, and nothing checks what they said */
} pirx_certainty;

/* One record of an answer. */
typedef struct pirx_record {
  const uint8_t* data; /* the record; NULL if it was not found or is empty */
  size_t size;         /* its length in bytes; 0 if it was not found */
  int found;           /* 1; or 0: the database has no record with this key */
  pirx_certainty certainty;
} pirx_record;

/* Says whether these can be the records that were asked for, in the order asked for: 1 yes, 0 no. It is for
   evidence of the caller's own, such as a signature over each record. Calls of
   pirx_client_fetch_... on the same client from within it are INVALID_ARGUMENT. */
typedef int (*pirx_believe)(void* context, const pirx_record* records, size_t count);
/* Says whether the work should end now: 1 yes, 0 no. pirx_client_fetch_... calls it in the caller's thread,
   about every 50 milliseconds. Calls on a retrieval call it often, and sometimes from other threads. It must
   not call this library, or throw. While another thread makes the client's keys, nothing asks it. */
typedef int (*pirx_stop)(void* context);

/* Options of a look-up. pirx_options_init() sets them to what suits most programs; then change some. */
typedef struct pirx_options {
  size_t struct_size; /* sizeof(pirx_options), set by pirx_options_init() */
  /* For protocols with several servers. With one server, leave these three alone. */
  int liars;             /* how many lying servers to be safe from. -1: as many as can be */
  unsigned rounds;       /* the most rounds of queries, 1 to 8; more than one only to find liars. 0: 4.
                            Fewer where max_memory does not hold the replies of so many */
  int wait_for_all;      /* 1: waits for every server, so that each one's behaviour is known. 0: for enough */
  pirx_believe believe;  /* chooses where replies prove nothing; NULL: the records' digests choose */
  void* believe_context; /* handed to `believe` */
  pirx_stop stop;        /* ends a call that takes seconds, with UNAVAILABLE or, where replies of several
                            servers are decoded, UNDECODABLE; NULL: nothing does */
  void* stop_context;    /* handed to `stop` */
  /* What a plan may ask of this client. RESOURCE_EXHAUSTED says that it asks for more, and names
     these three as `pirx get` does: --max-bytes, --max-memory, --max-work. */
  uint64_t max_bytes;  /* of a query and its replies, and of keys. 0: 256 MiB */
  uint64_t max_memory; /* bytes held at the same time. 0: 1 GiB */
  uint64_t max_work;   /* milliseconds of one core for each query. 0: 60000 */
  uint64_t deadline;   /* milliseconds that pirx_client_fetch_... waits for each round. 0: 10000, and 600000
                          with a single server, which may compute for long. All its rounds together have that
                          time once for each query (three for a key) and once more. Decoding the replies of
                          several servers ends when it has taken that time for each round, whoever moves the
                          messages */
} pirx_options;

/* On input struct_size is sizeof(pirx_options). On output *options has the usual values.
   Errors: INVALID_ARGUMENT, struct_size is smaller than that of the first version of this struct. */
PIRX_API pirx_status pirx_options_init(pirx_options* options, size_t struct_size);

/* The most records of one look-up. By default servers take 256 in one. */
#define PIRX_MAX_WISHES 4096

/* ---- Retrievals ---- */

/* One look-up in progress. What servers see of it, its length included, depends neither on the positions or
   keys nor on any record. */
typedef struct pirx_retrieval pirx_retrieval;
/* What a look-up found. Never changes. */
typedef struct pirx_answer pirx_answer;

/* Some bytes of the caller's, such as a key. They may be any bytes. */
typedef struct pirx_bytes {
  const void* data; /* may be NULL if size is 0 */
  size_t size;
} pirx_bytes;

/* Begins to look up the records at `count` positions, 1 to PIRX_MAX_WISHES. A position may be there twice.
   The first look-up of a client may take seconds, in protocols whose clients have keys. On input `options` is
   NULL for the usual ones. On output *retrieval is new: free it. Errors: INVALID_ARGUMENT, a wrong count or
   option, or the database is keyed. RESOURCE_EXHAUSTED, the server asks for more than the options allow.
   UNAVAILABLE, the system gives no randomness. A position that the database does not have is no error here:
   it is asked for like any other, so that servers cannot tell, and pirx_retrieval_finish() says OUT_OF_RANGE.
 */
PIRX_API pirx_status pirx_retrieval_begin_positions(const pirx_client* client, const uint64_t* positions,
                                                    size_t count, const pirx_options* options,
                                                    pirx_retrieval** retrieval);
/* The same for the records of these keys, in a keyed database. A key that has no record is asked for like any
   other, and its pirx_record says that it was not found. INVALID_ARGUMENT: as above, or the database has no
   keys. */
PIRX_API pirx_status pirx_retrieval_begin_keys(const pirx_client* client, const pirx_bytes* keys,
                                               size_t count, const pirx_options* options,
                                               pirx_retrieval** retrieval);

/* What to do next. */
typedef enum pirx_action {
  PIRX_SEND = 1,    /* send the message to its server, and call pirx_retrieval_next() again at once */
  PIRX_RECEIVE = 2, /* wait for a reply, or for the loss of one, and hand it in */
  PIRX_FINISH = 3   /* nothing is left to send: call pirx_retrieval_finish() */
} pirx_action;

/* With PIRX_SEND all members are set; with the other actions only `action` is, and the others are 0. */
typedef struct pirx_message {
  pirx_action action;
  uint64_t id;             /* the number of the message, unlike that of any other in this process; never 0 */
  size_t server;           /* the number of the server */
  const char* origin;      /* as in pirx_server: "https://pir1.example.org:443" */
  const char* path;        /* likewise: "/v1/query" */
  const uint8_t* data;     /* what to POST, as application/octet-stream; valid until the retrieval is freed */
  size_t size;             /* its length in bytes */
  uint64_t max_reply_size; /* no valid reply is longer: stop reading one that is */
} pirx_message;

/* Says what to do next. The call that gives the first message of a round may take long.
   Messages come in rounds: first PIRX_SEND once for each server that is asked, then PIRX_RECEIVE until enough
   replies are there, then the next round or PIRX_FINISH. Send every message exactly once, even if you have
   enough replies already, and only to its own server: sent twice or to another server, it would tell what is
   looked up. Errors: INVALID_ARGUMENT, the retrieval has failed or is finished. Others are the
   protocol's, and end the retrieval: then free it. */
PIRX_API pirx_status pirx_retrieval_next(pirx_retrieval* retrieval, pirx_message* message);

/* On output *waiting is 1 if replies to messages of this round are still of use; else 0. Ask after each
   reply. Once it is 0, stop waiting for the other replies. With several servers, close their connections
   before the call of pirx_retrieval_next() that follows, so that nobody learns from their end how long its
   work took. */
PIRX_API pirx_status pirx_retrieval_waiting(const pirx_retrieval* retrieval, int* waiting);

/* Hands in the reply to a message: the body of an HTTP answer with status 200.
   On input `id` is that of the message, and `reply` has `size` bytes, at most max_reply_size of the message.
   Errors: INVALID_ARGUMENT, no reply to this message is awaited (it had one, was lost, or is of another
   round or retrieval, or was never sent); nothing has changed. Any other error says what is wrong with the
   reply: it then counts as lost, the server is to blame, and the retrieval goes on. */
PIRX_API pirx_status pirx_retrieval_receive(pirx_retrieval* retrieval, uint64_t id, const void* reply,
                                            size_t size);

/* Says that there will be no reply to a message, and why. The retrieval goes on.
   On input `why` is PIRX_UNAVAILABLE if there was no answer in time or no connection, and if the server
   refused, the status that it named (pirx_status_from_name). `text` says more, for people; NULL: nothing
   more. Errors: INVALID_ARGUMENT as pirx_retrieval_receive(), or `why` is PIRX_OK, PIRX_BUFFER_TOO_SMALL or
   no status. */
PIRX_API pirx_status pirx_retrieval_lost(pirx_retrieval* retrieval, uint64_t id, pirx_status why,
                                         const char* text);

/* On output *done is 1 if it is time for pirx_retrieval_finish(), as pirx_retrieval_next() has said; else 0.
 */
PIRX_API pirx_status pirx_retrieval_done(const pirx_retrieval* retrieval, int* done);

/* Makes the answer from the replies. Call it once, after PIRX_FINISH. Close the connections to servers first:
   how long this takes may depend on the records.
   On output *answer is new: free it. The retrieval is finished either way: then free it.
   Errors: INVALID_ARGUMENT, it is too early, or the second time. UNDECODABLE, too few of several servers
   replied, or told the truth, or decoding was ended. UNAUTHENTICATED, too few replied because of TLS, tokens
   or certificates. UNAVAILABLE, the only server did not reply; if it refused, the status that it named, but
   DATA_LOSS for INVALID_ARGUMENT and UNAVAILABLE for OUT_OF_RANGE: these two are for mistakes of the caller.
   OUT_OF_RANGE, there is no record at one of the positions. STALE_EPOCH, the servers have another version of
   the database. DATA_LOSS, a record does not fit its digest. The message lists what was wrong with each
   server's replies.
 */
PIRX_API pirx_status pirx_retrieval_finish(pirx_retrieval* retrieval, pirx_answer** answer);

/* NULL is allowed and does nothing. A retrieval may be freed at any time. */
PIRX_API pirx_status pirx_retrieval_free(pirx_retrieval* retrieval);

/* ---- Answers ---- */

/* The number of records that were asked for. */
PIRX_API pirx_status pirx_answer_records(const pirx_answer* answer, size_t* count);
/* The record of the wish with this number, counted from 0 in the order asked for. OUT_OF_RANGE: there were
   not so many. */
PIRX_API pirx_status pirx_answer_record(const pirx_answer* answer, size_t index, pirx_record* record);

/* What an answer rests on. */
typedef struct pirx_summary {
  pirx_certainty certainty;
  unsigned responders;  /* the number of servers whose replies were used */
  unsigned proof_bound; /* with PIRX_PROVEN: the answer is right unless more servers than this lied */
  unsigned rounds;      /* how many rounds of queries it took */
} pirx_summary;

PIRX_API pirx_status pirx_answer_summary(const pirx_answer* answer, pirx_summary* summary);

/* What is known of a server after a look-up. */
typedef enum pirx_server_status {
  PIRX_SERVER_OK = 0,
  PIRX_SERVER_LIED = 1,      /* one of its replies is wrong, which is proven */
  PIRX_SERVER_SUSPECTED = 2, /* one of its replies disagrees with a probable answer */
  PIRX_SERVER_SILENT = 3,    /* no reply came, or none was awaited any more */
  PIRX_SERVER_REFUSED = 4,   /* it refused to answer */
  PIRX_SERVER_MALFORMED = 5, /* what came was no reply */
  PIRX_SERVER_STALE = 6      /* it has another version of the database */
} pirx_server_status;

/* OUT_OF_RANGE: there are not so many servers. */
PIRX_API pirx_status pirx_answer_server(const pirx_answer* answer, size_t server, pirx_server_status* status);

/* The servers that lied (PIRX_SERVER_LIED), in ascending order.
   On input `servers` has room for `capacity` numbers; it may be NULL if that is 0. On output *count is the
   number of liars, and `servers` has them.
   Errors: BUFFER_TOO_SMALL, there are more than `capacity`: *count says how many, and `servers` is unchanged.
 */
PIRX_API pirx_status pirx_answer_liars(const pirx_answer* answer, size_t* servers, size_t capacity,
                                       size_t* count);

/* NULL is allowed and does nothing. */
PIRX_API pirx_status pirx_answer_free(pirx_answer* answer);

/* ---- The whole look-up in one call ---- */

/* Looks records up, with HTTP connections of the library's own, and waits for the answer: begins a retrieval,
   drives it and finishes it. At most 256 records. Calls of this kind on one client have keys of their own,
   and with a single server wait for each other's messages. `deadline` ends that wait, and then the wait for
   servers; so does the option `stop`, which also ends the connections at once and wipes what was under way.
   Errors: those of pirx_retrieval_begin_positions() and pirx_retrieval_finish(). UNAVAILABLE, too, if the
   library was built without an HTTP client (pirx_has_http() is 0). */
PIRX_API pirx_status pirx_client_fetch_positions(const pirx_client* client, const uint64_t* positions,
                                                 size_t count, const pirx_options* options,
                                                 pirx_answer** answer);
PIRX_API pirx_status pirx_client_fetch_keys(const pirx_client* client, const pirx_bytes* keys, size_t count,
                                            const pirx_options* options, pirx_answer** answer);
/* 1 if this library has an HTTP client, else 0. */
PIRX_API int pirx_has_http(void);

#ifdef __cplusplus
}
#endif

#endif
