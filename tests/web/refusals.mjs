// SPDX-License-Identifier: Apache-2.0
// Refusals of one server of three, where two replies are enough: none ends a browser's look-up, whatever name the server gives it.
// web/pirx.js runs as it is, over a stand-in for the module that takes the reasons that service/c/retrieval.cc takes.
//
//     node refusals.mjs PIRX.JS
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const source = readFileSync(process.argv[2], "utf8");
const { Pirx } = await import("data:text/javascript," + encodeURIComponent(source));
const STATUS = JSON.parse(/const STATUS = (\[[^]*?\])/.exec(source)[1]);
assert.equal(STATUS[9], "Internal");

/// What pirx.js calls, with three servers and replies of which two are enough. `reasons` gets what is lost and why; with
/// `deaf` no loss is taken.
function module(reasons, deaf) {
  const memory = new WebAssembly.Memory({ initial: 64 });
  let top = 1024, sent = 0, got = 0, error = 0;
  const room = (size) => { const at = top; top += (size + 15) & ~7; return at; };
  const text = (of) => {
    const bytes = new TextEncoder().encode(of + "\0"), at = room(bytes.length);
    new Uint8Array(memory.buffer).set(bytes, at);
    return at;
  };
  const view = new DataView(memory.buffer);
  const put = (at, ...values) => (values.forEach((value, i) => view.setUint32(at + 4 * i, value, true)), 0);
  const fail = (status, message) => (error = text(message), status);
  const empty = text(""), path = text("/v1/query"), record = text("record");
  return {
    memory, _initialize() {}, malloc: room, free() {},
    pirx_last_error: (out) => put(out, error),
    pirx_deployment_parse: (at, size, file, out) => put(out, 1),
    pirx_deployment_protocols: (of, out) => put(out, 1),
    pirx_deployment_protocol: (of, i, out) => put(out, text("goldberg")),
    pirx_deployment_database: () => 0,
    pirx_client_create: (of, protocol, table, count, out) => put(out, 1),
    pirx_client_warning: (of, out) => put(out, empty),
    pirx_client_servers: (of, out) => put(out, 3),
    pirx_client_server: (of, i, out) => put(out, text(`http://server${i}`), path, empty),
    pirx_options_init: () => 0,
    pirx_retrieval_begin_positions: (of, at, count, options, out) => put(out, 1),
    pirx_retrieval_next: (of, out) => {
      if (sent === 3) return put(out, got + reasons.length === 3 || got === 2 ? 3 : 2);
      put(out, 1, 0, sent + 1, 0, sent, text(`http://server${sent}`), path, record, 6, 0, 100);
      ++sent;
      return 0;
    },
    pirx_retrieval_receive: () => (++got, 0),
    pirx_retrieval_lost: (of, id, why) => {
      if (deaf) return fail(5, "no memory");
      if (why < 1 || why > 9) return fail(1, "this is no reason why there is no reply");
      reasons.push(why);
      return 0;
    },
    pirx_retrieval_finish: (of, out) => got < 2 ? fail(8, "too few") : put(out, 1),
    pirx_retrieval_free: () => 0,
    pirx_answer_record: (of, i, out) => put(out, record, 6, 1),
    pirx_answer_summary: () => 0,
    pirx_answer_server: (of, i, out) => put(out, 0),
    pirx_answer_free: () => 0,
  };
}

const TYPE = { "Content-Type": "application/octet-stream" };
const COMPRESSED = "a reply, but compressed";

/// Looks a record up; the last `refusing` servers refuse, with `name`, before the others reply.
async function look_up(name, { refusing = 1, deaf = false } = {}) {
  const reasons = [];
  WebAssembly.instantiate = async () => ({ instance: { exports: module(reasons, deaf) } });
  globalThis.fetch = async (url, { headers }) => {
    assert.equal(headers.Connection, "close");  // or Node.js would close it when all has been decoded
    if (Number(/server(.)/.exec(url)[1]) >= 3 - refusing) {
      if (name === COMPRESSED) return new Response("a reply", { headers: { ...TYPE, "Content-Encoding": "gzip" } });
      return new Response("{}", { status: 400, headers: name === null ? {} : { "Pirx-Error": name } });
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
    return new Response("a reply", { headers: TYPE });
  };
  const deployment = (await Pirx.load(new Uint8Array(1))).deployment("{}");
  return { reasons, ...await deployment.get(0, { timeout: 5000 }) };
}

const names = [...STATUS, "", "Nonsense", "internal", "-1", "9", "10", "length", "__proto__", "constructor", null];
for (const name of names) {
  const { record, reasons } = await look_up(name);
  assert.equal(new TextDecoder().decode(record), "record", name);
  const named = STATUS.indexOf(name);
  const expected = name === null ? STATUS.indexOf("DataLoss") : named >= 1 && named <= 9 ? named : 9;
  assert.deepEqual(reasons, [expected], `${name}`);
}
assert.deepEqual((await look_up(COMPRESSED)).reasons, [STATUS.indexOf("DataLoss")]);
// A loss that the module does not take ends a look-up only if the others' replies are too few.
assert.equal(new TextDecoder().decode((await look_up("Internal", { deaf: true })).record), "record");
await assert.rejects(look_up("Internal", { refusing: 2, deaf: true }), { code: STATUS[5], message: "no memory" });
await assert.rejects(look_up("Internal", { refusing: 2 }), { code: STATUS[8] });
console.log(`${names.length} names, 3 losses`);
