// SPDX-License-Identifier: Apache-2.0
// The C interface: calls in any order, with objects that are there, were freed, are of another kind or never
// were, and with replies that are honest or not.
#include <map>

#include "pirx/client/deployment.h"
#include "pirx/pirx.h"
#include "world.h"

namespace pirx::fuzz {
namespace {

const std::string& deployment_text(bool keyed) {
  static std::map<bool, std::string> texts;
  auto& text = texts[keyed];
  if (text.empty()) {
    const auto& world = World::of(keyed ? Room::kGoldbergKeyed : Room::kGoldberg);
    client::Deployment deployment{world.plan(), {}};
    for (std::size_t i = 0; i < world.servers(); ++i) {
      deployment.servers.push_back({.url = "http://127.0.0.1:" + std::to_string(8100 + i)});
    }
    text = client::format_deployments({&deployment, 1});
  }
  return text;
}

/// The result of a call: a status with a name, and a message if it is an error.
bool good(pirx_status status) {
  expect(std::string_view(pirx_status_name(status)) != "Unknown", "a status has a name");
  if (status == PIRX_OK) return true;
  const char* message = nullptr;
  expect(pirx_last_error(&message) == status && message != nullptr && message[0] != '\0',
         "an error has a message");
  return false;
}

struct Sent {
  std::uint64_t id;
  std::size_t server;
  Bytes bytes;
};

/// All objects of a run, also those that were freed.
struct Objects {
  std::vector<void*> all{nullptr};
  template <class T>
  T* some(Script& script) {
    const auto choice = script.byte();
    if (choice == 255) return reinterpret_cast<T*>(script.number());
    return static_cast<T*>(all[all.size() - 1 - choice % all.size()]);
  }
  template <class T>
  void add(pirx_status status, T* const& object) {
    if (good(status)) {
      expect(object != nullptr, "an object is there");
      all.push_back(object);
    }
  }
};

int believes(void*, const pirx_record*, size_t count) { return count != 7; }
int never(void*) { return 0; }

}  // namespace

PIRX_FUZZ(c_interface, [] {
  // Parses, makes a client, begins, sends four times, receives four times, finishes and reads.
  Seeds seeds;
  for (const char* text :
       {"000002000700000000000300",
        "0000020007000100000200000000090009000900090009000a0000000a0000"
        "010a0000020a000003090009000c00000d00",
        "0001020008000100000003030d0900090009000900090009000b00000e0000", "0e000e010e020f0f01"}) {
    seeds.push_back(from_hex(text).value());
  }
  return seeds;
}) {
  const auto& plain = World::of(Room::kGoldberg);
  const auto& keyed = World::of(Room::kGoldbergKeyed);
  Script script(input);
  Objects objects;
  std::vector<Sent> sent;
  for (unsigned calls = 0; calls < 200 && !script.empty(); ++calls) {
    switch (script.byte() % 16) {
      case 0: {
        auto text = bytes_of(deployment_text(script.byte() % 2 != 0));
        if (script.byte() % 4 == 3) change(text, script);
        pirx_deployment* deployment = nullptr;
        objects.add(pirx_deployment_parse(reinterpret_cast<const char*>(text.data()), text.size(), nullptr,
                                          &deployment),
                    deployment);
        break;
      }
      case 1: {
        const auto* deployment = objects.some<pirx_deployment>(script);
        std::size_t count = 0;
        const char* name = nullptr;
        pirx_database database;
        if (good(pirx_deployment_protocols(deployment, &count))) expect(count > 0, "there is a protocol");
        if (good(pirx_deployment_protocol(deployment, script.byte(), &name)))
          expect(name[0] != '\0', "it has a name");
        if (good(pirx_deployment_database(deployment, &database)))
          expect(database.records > 0, "it has records");
        break;
      }
      case 2: {
        const auto* deployment = objects.some<pirx_deployment>(script);
        const auto how = script.byte();
        const auto name = script.text(), value = how & 2 ? script.text() : std::string("on");
        const pirx_option option{how & 4 ? nullptr : name.c_str(), value.c_str()};
        pirx_client* client = nullptr;
        objects.add(pirx_client_create(deployment, how & 8 ? name.c_str() : nullptr,
                                       how & 1 ? &option : nullptr, how & 16 ? 1 : how & 1, &client),
                    client);
        break;
      }
      case 3: {
        const auto* deployment = objects.some<pirx_deployment>(script);
        const auto tokens = script.text(), file = script.text();
        const auto how = script.byte();
        const pirx_credentials credentials{tokens.c_str(), tokens.size(), how & 1 ? "/nowhere" : nullptr,
                                           how & 2 ? file.c_str() : nullptr,
                                           how & 4 ? file.c_str() : nullptr};
        pirx_client* client = nullptr;
        objects.add(pirx_client_create_with(deployment, nullptr, nullptr, 0, how & 8 ? nullptr : &credentials,
                                            &client),
                    client);
        break;
      }
      case 4: {
        const auto* client = objects.some<pirx_client>(script);
        const std::size_t index = script.byte();
        std::size_t count = 0;
        const char* text = nullptr;
        pirx_server server;
        static_cast<void>(good(pirx_client_warning(client, &text)));
        if (good(pirx_client_servers(client, &count))) {
          expect(good(pirx_client_server(client, index, &server)) == (index < count), "servers are counted");
          static_cast<void>(good(pirx_client_token(client, index, &text)));
        }
        break;
      }
      case 5: {
        pirx_options options;
        std::size_t size = script.byte();
        expect(good(pirx_options_init(&options, std::min(size, sizeof options))) || size < sizeof options,
               "options begin with what suits most");
        break;
      }
      case 6:
        static_cast<void>(pirx_status_name(static_cast<pirx_status>(script.byte() % 16)));
        static_cast<void>(pirx_status_from_name(script.text().c_str()));
        break;
      case 7:
      case 8: {
        const bool by_key = script.byte() % 2 != 0;
        const auto* client = objects.some<pirx_client>(script);
        // A program of a later version has more options behind ours.
        struct {
          pirx_options ours;
          std::byte later[256];
        } given{};
        auto& options = given.ours;
        expect(pirx_options_init(&options, sizeof options) == PIRX_OK, "options can be set");
        const auto how = script.byte();
        if (how & 1) {
          options.liars = static_cast<int>(script.byte()) - 2;
          options.rounds = script.byte();
          options.wait_for_all = static_cast<int>(script.byte()) - 1;
        }
        if (how & 2) options.believe = believes;
        if (how & 4) options.stop = never;
        if (how & 8) {
          options.max_bytes = script.length();
          options.max_memory = script.length();
          options.max_work = script.length();
        }
        if (how & 16) options.struct_size = script.byte();
        if (how & 32) given.later[script.byte()] = std::byte{1};
        pirx_retrieval* retrieval = nullptr;
        if (by_key) {
          const auto name = script.text();
          const pirx_bytes keys[] = {{name.data(), name.size()}, {"key3", 4}, {nullptr, 0}};
          objects.add(pirx_retrieval_begin_keys(client, keys, script.byte() % 4, &options, &retrieval),
                      retrieval);
        } else {
          const std::uint64_t positions[] = {3, 17, script.length()};
          objects.add(
              pirx_retrieval_begin_positions(client, positions, script.byte() % 4, &options, &retrieval),
              retrieval);
        }
        break;
      }
      case 9: {
        pirx_message message;
        auto* retrieval = objects.some<pirx_retrieval>(script);
        if (good(pirx_retrieval_next(retrieval, &message)) && message.action == PIRX_SEND) {
          expect(message.id != 0 && message.data != nullptr && message.origin != nullptr,
                 "a message is whole");
          sent.push_back({message.id, message.server,
                          Bytes(reinterpret_cast<const std::byte*>(message.data),
                                reinterpret_cast<const std::byte*>(message.data) + message.size)});
        }
        int yes = 0;
        static_cast<void>(good(pirx_retrieval_waiting(retrieval, &yes)));
        static_cast<void>(good(pirx_retrieval_done(retrieval, &yes)));
        break;
      }
      case 10: {
        auto* retrieval = objects.some<pirx_retrieval>(script);
        if (sent.empty()) break;
        const auto& message = sent[sent.size() - 1 - script.byte() % sent.size()];
        Bytes reply;
        for (const auto* world : {&plain, &keyed}) {
          const ByteSpan request = message.bytes;
          if (message.server >= world->servers()) continue;
          auto replies = world->server(message.server).answer({&request, 1});
          if (replies[0]) reply = std::move(*replies[0]);
        }
        for (auto n = script.byte() % 4; n > 0; --n) change(reply, script);
        static_cast<void>(good(pirx_retrieval_receive(retrieval, message.id, reply.data(), reply.size())));
        break;
      }
      case 11: {
        auto* retrieval = objects.some<pirx_retrieval>(script);
        const auto id = sent.empty() || script.byte() % 8 == 7 ? script.number() : sent.back().id;
        const auto text = script.text();
        static_cast<void>(good(
            pirx_retrieval_lost(retrieval, id, static_cast<pirx_status>(script.byte() % 16), text.c_str())));
        break;
      }
      case 12: {
        pirx_answer* answer = nullptr;
        objects.add(pirx_retrieval_finish(objects.some<pirx_retrieval>(script), &answer), answer);
        break;
      }
      case 13: {
        const auto* answer = objects.some<pirx_answer>(script);
        std::size_t count = 0, servers[8];
        if (good(pirx_answer_records(answer, &count))) {
          pirx_record record;
          for (std::size_t i = 0; i <= count; ++i) {
            const bool there = good(pirx_answer_record(answer, i, &record));
            expect(there == (i < count), "records are counted");
            if (there && record.size > 0)
              expect(record.found == 1 && record.data != nullptr, "a record is there");
          }
          pirx_summary summary;
          expect(good(pirx_answer_summary(answer, &summary)), "an answer has a summary");
        }
        static_cast<void>(good(pirx_answer_liars(answer, servers, script.byte() % 8, &count)));
        pirx_server_status status;
        static_cast<void>(good(pirx_answer_server(answer, script.byte(), &status)));
        break;
      }
      case 14: {
        const auto kind = script.byte() % 4;
        if (kind == 0) static_cast<void>(good(pirx_deployment_free(objects.some<pirx_deployment>(script))));
        if (kind == 1) static_cast<void>(good(pirx_client_free(objects.some<pirx_client>(script))));
        if (kind == 2) static_cast<void>(good(pirx_retrieval_free(objects.some<pirx_retrieval>(script))));
        if (kind == 3) static_cast<void>(good(pirx_answer_free(objects.some<pirx_answer>(script))));
        break;
      }
      default: {  // nothing where something is needed
        pirx_deployment* deployment = nullptr;
        expect(!good(pirx_deployment_parse(nullptr, script.byte(), nullptr, &deployment)),
               "a text is needed");
        expect(!good(pirx_deployment_protocols(objects.some<pirx_deployment>(script), nullptr)),
               "a place is needed");
        expect(!good(pirx_retrieval_next(nullptr, nullptr)), "a retrieval is needed");
        expect(!good(pirx_client_create(nullptr, nullptr, nullptr, 0, nullptr)), "a deployment is needed");
      }
    }
  }
  for (auto* object : objects.all) {
    static_cast<void>(pirx_deployment_free(static_cast<pirx_deployment*>(object)));
    static_cast<void>(pirx_client_free(static_cast<pirx_client*>(object)));
    static_cast<void>(pirx_retrieval_free(static_cast<pirx_retrieval*>(object)));
    static_cast<void>(pirx_answer_free(static_cast<pirx_answer*>(object)));
  }
}

}  // namespace pirx::fuzz
