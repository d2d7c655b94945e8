// SPDX-License-Identifier: Apache-2.0
// Refusals of one server of three, where two replies are enough: none ends a browser's look-up, whatever name the server gives it.
// web/pirx.js runs as it is, over a stand-in for the module that takes the reasons that service/c/retrieval.cc takes. The servers write
// what they like to their connections, also what ends a process that asks with the fetch of Node.js.
//
//     node refusals.mjs PIRX.JS
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import dns from "node:dns";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttps } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";

const source = readFileSync(process.argv[2], "utf8");
const { Pirx } = await import("data:text/javascript," + encodeURIComponent(source));
const STATUS = JSON.parse(/const STATUS = (\[[^]*?\])/.exec(source)[1]);
assert.equal(STATUS[9], "Internal");

/// What pirx.js calls, with three servers and replies of which two are enough. `reasons` gets what is lost and why; with
/// `deaf` no loss is taken. With `alone` there is one server, which is asked nine times, once a round.
function module(reasons, deaf, alone) {
  const servers = alone ? 1 : 3, enough = alone ? 9 : 2, sizes = new Map();
  const memory = new WebAssembly.Memory({ initial: 64 });
  let top = 1024, sent = 0, got = 0, error = 0;
  const room = (size) => { const at = top; top += (size + 15) & ~7; return at; };
  const text = (of) => {
    const bytes = new TextEncoder().encode(of + "\0"), at = room(bytes.length);
    new Uint8Array(memory.buffer).set(bytes, at);
    return at;
  };
  const malloc = (size) => { const at = room(size); sizes.set(at, size); return at; };
  const free = (at) => { if (new Uint8Array(memory.buffer, at, sizes.get(at)).some((byte) => byte !== 0)) ++unwiped; };
  const view = new DataView(memory.buffer);
  const put = (at, ...values) => (values.forEach((value, i) => view.setUint32(at + 4 * i, value, true)), 0);
  const fail = (status, message) => (error = text(message), status);
  const empty = text(""), path = text("/v1/query"), record = text("record");
  return {
    memory, _initialize() {}, malloc, free,
    pirx_last_error: (out) => put(out, error),
    pirx_deployment_parse: (at, size, file, out) => put(out, 1),
    pirx_deployment_protocols: (of, out) => put(out, 1),
    pirx_deployment_protocol: (of, i, out) => put(out, text("goldberg")),
    pirx_deployment_database: () => 0,
    pirx_client_create: (of, protocol, table, count, out) => put(out, 1),
    pirx_client_free: () => (++freed, 0),
    pirx_client_warning: (of, out) => put(out, empty),
    pirx_client_servers: (of, out) => put(out, servers),
    pirx_client_server: (of, i, out) => put(out, text(urls[i]), path, i === 2 ? text(ca_file) : empty, old),
    pirx_options_init: () => 0,
    pirx_retrieval_begin_positions: (of, at, count, options, out) => (++held, put(out, 1)),
    pirx_retrieval_next: (of, out) => {
      if (got >= enough || (reasons.length > 0 && got + reasons.length >= servers)) return put(out, 3);
      if (sent === (alone ? got + 1 : 3)) return put(out, 2);
      const server = sent++ % servers;
      return put(out, 1, 0, sent, 0, server, text(urls[server]), path, record, 6, 0, 100);
    },
    pirx_retrieval_receive: () => (++got, 0),
    pirx_retrieval_lost: (of, id, why) => {
      if (deaf) return fail(5, "no memory");
      if (why < 1 || why > 9) return fail(1, "this is no reason why there is no reply");
      reasons.push(why);
      return 0;
    },
    pirx_retrieval_finish: (of, out) => got < enough ? fail(8, "too few") : (++held, put(out, 1)),
    pirx_retrieval_free: () => (--held, 0),
    pirx_answer_record: (of, i, out) => put(out, record, 6, 1),
    pirx_answer_summary: () => 0,
    pirx_answer_server: (of, i, out) => put(out, 0),
    pirx_answer_free: () => (--held, 0),
  };
}

const TYPE = "Content-Type: application/octet-stream\r\n";
const http = (status, headers, body) => `HTTP/1.1 ${status} X\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
let old = 0;  // 1: TLS 1.2 is enough
let ca_file = "";  // of the last server
let freed = 0;  // clients
let held = 0;  // retrievals and answers that are not freed
let unwiped = 0;  // times that memory was freed as it was
let delay = 20;  // of replies, so that refusals are first
let answering = (answer) => answer();
const timeouts = new Set();  // that the servers were told
const replies = ["", "", ""];  // of the three servers

const urls = await Promise.all(replies.map((_, i) => new Promise((resolve) => {
  const server = createServer((socket) => {
    let got = "";
    socket.on("error", () => {});
    socket.on("data", (data) => {
      got += data.toString("latin1");
      if (!got.endsWith("\r\n\r\nrecord")) return;
      assert.match(got, /^POST \/v1\/query HTTP\/1.1\r\n/);
      const timeout = Number(/\r\nPirx-Timeout: (\d+)\r\n/.exec(got)[1]);
      assert.ok(timeout <= 86_400_000);  // what servers take
      timeouts.add(timeout);
      assert.match(got, /\r\nConnection: close\r\n/);  // or Node.js would close it when all has been decoded
      setTimeout(() => answering(() => socket.write(replies[i], "latin1")), replies[i].includes("a reply") ? delay : 0);
    });
  });
  server.listen(0, "localhost", () => resolve(`http://localhost:${server.address().port}`));
})));

/// Looks a record up; the last `refusing` servers reply so.
async function look_up(reply, { refusing = 1, deaf = false, alone = false, timeout = 5000, wish = 0, ...more } = {}) {
  const reasons = [];
  WebAssembly.instantiate = async () => ({ instance: { exports: module(reasons, deaf, alone) } });
  replies.forEach((_, i) => { replies[i] = i >= 3 - refusing ? reply : http(200, TYPE, "a reply"); });
  const deployment = (await Pirx.load(new Uint8Array(1))).deployment("{}");
  return { reasons, ...await deployment.get(wish, { timeout, ...more }) };
}
const refusal = (name) => http(400, name === null ? "" : `Pirx-Error: ${name}\r\n`, "{}");

const names = [...STATUS, "", "Nonsense", "internal", "-1", "9", "10", "length", "__proto__", "constructor", null];
for (const name of names) {
  const { record, reasons } = await look_up(refusal(name));
  assert.equal(new TextDecoder().decode(record), "record", name);
  const named = STATUS.indexOf(name);
  const expected = name === null ? STATUS.indexOf("DataLoss") : named >= 1 && named <= 9 ? named : 9;
  assert.deepEqual(reasons, [expected], `${name}`);
}
const hostile = [
  ["DataLoss", http(200, TYPE + "Content-Encoding: gzip\r\n", "compressed")],
  ["DataLoss", http(200, TYPE + "Content-Encoding: a,a,a,a,a,a\r\n", "compressed")],
  ["DataLoss", http(200, TYPE + "Content-Encoding: a,a,a,a,a,a\r\n", "compressed").slice(0, -3)],  // and then nothing
  ["DataLoss", http(200, "", "a page")],
  ["DataLoss", http(200, TYPE, "x".repeat(1000))],
  ["DataLoss", http(302, "Location: /\r\n", "")],
  ["DataLoss", http(503, "", "x".repeat(20_000))],
  ["Unavailable", http(503, "Content-Encoding: a,a,a,a,a,a\r\n", "{}").slice(0, -1)],
  ["Unavailable", http(200, TYPE, "short").slice(0, -1)],
  ["Unavailable", `HTTP/1.1 200 X\r\n${TYPE}\r\nwithout a length`],
  ["Unavailable", http(200, TYPE + "Transfer-Encoding: chunked\r\n", "zz\r\n")],
  ["Unavailable", "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
  ["Unavailable", "HTTP/1.1 103 X\r\n\r\n".repeat(100)],
  ["Unavailable", "HTTP/1.1 200 X\r\nX: " + "a".repeat(100000) + "\r\n\r\n"],
  ["Unavailable", "nonsense"],
];
for (const [code, reply] of hostile) {
  const { record, reasons } = await look_up(reply, { timeout: 1000 });
  assert.equal(new TextDecoder().decode(record), "record", reply);
  assert.deepEqual(reasons, [STATUS.indexOf(code)], reply);
}
// No server's words steer a terminal.
const rude = http(400, "", String.raw`{"error":{"message":"\u001b[2J\u202eno\u2028"}}`);
assert.equal((await look_up(rude)).servers[2].message, "?[2J?no?");
// A name with thousands of addresses, of which none answers; and one that is never resolved, which is asked for once.
const { lookup } = dns.promises, third = urls[2];
const crowd = Array.from({ length: 5000 }, (_, i) => ({ address: `224.1.${i >> 8}.${i & 255}`, family: 4 }));
let resolving = 0;
dns.promises.lookup = (name, options) => name === "crowd" ? Promise.resolve(crowd) : name === "slow" ? (++resolving, new Promise(() => {})) : lookup(name, options);
for (const name of ["crowd", "slow", "slow"]) {
  urls[2] = `http://${name}:1`;
  assert.deepEqual((await look_up("", { timeout: 1000 })).reasons, [STATUS.indexOf("Unavailable")]);
}
assert.equal(resolving, 1);
// No TLS session is resumed: a server would know its clients by it.
const folder = mkdtempSync(`${tmpdir()}/pirx-refusals-`);
execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
  "-addext", "subjectAltName=DNS:localhost", "-keyout", `${folder}/key.pem`, "-out", `${folder}/cert.pem`], { stdio: "ignore" });
const cert = readFileSync(`${folder}/cert.pem`), key = readFileSync(`${folder}/key.pem`);
const resumed = [];
const secure = createHttps({ cert, key }, (request, response) => request.resume().on("end", () => response.setHeader("Content-Type", "application/octet-stream").end("a reply")));
secure.on("secureConnection", (socket) => resumed.push(socket.isSessionReused()));
await new Promise((resolve) => secure.listen(0, "localhost", resolve));
urls[2] = `https://localhost:${secure.address().port}`;
// Node.js trusts the authorities of the deployment, and no others.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
writeFileSync(`${folder}/none.pem`, "");
for (const [file, reasons] of [["", [STATUS.indexOf("Unavailable")]], ["none.pem", [STATUS.indexOf("Unavailable")]], ["cert.pem", []]]) {
  ca_file = file && `${folder}/${file}`;
  assert.deepEqual((await look_up("", { refusing: 0 })).reasons, reasons, file);
}
resumed.length = 0;
writeFileSync(`${folder}/many.pem`, "-----BEGIN CERTIFICATE-----\n".repeat(1001));
// A key on an elliptic curve that its certificate defines, before OpenSSL looks at it, and what would hide it.
const own = `${Buffer.from("302c020101302006072a8648ce3d0101", "hex").toString("base64")}\n-----END CERTIFICATE-----\n`;
writeFileSync(`${folder}/own.pem`, `${cert}-----BEGIN CERTIFICATE-----\n${own}`);
writeFileSync(`${folder}/header.pem`, `${cert}-----BEGIN CERTIFICATE-----\na: header\n\n${own}`);
execFileSync("mkfifo", [`${folder}/pipe.pem`]);  // whoever opens it waits for a writer
const unusable = ["missing.pem", "", "many.pem", "own.pem", "header.pem", "pipe.pem", "/dev/zero",
  "/proc/self/pagemap"];
for (const file of unusable) {
  ca_file = file.startsWith("/") ? file : `${folder}/${file}`;
  await assert.rejects(look_up("", { refusing: 0 }), { code: "Unavailable", message: /ca_file/ });
}
assert.equal(freed, unusable.length);
ca_file = `${folder}/cert.pem`;
delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
for (let i = 0; i < 3; ++i) assert.deepEqual((await look_up(refusal("Internal"), { refusing: 0 })).servers[2].outcome, "ok");
assert.deepEqual(resumed, [false, false, false]);
// TLS 1.2 only if the deployment allows it, and then with forward secrecy.
for (const [ciphers, allowed, outcome] of [["ECDHE-ECDSA-AES128-GCM-SHA256", 0, "Unavailable"], ["ECDHE-ECDSA-AES128-GCM-SHA256", 1, "ok"],
  ["ECDHE-ECDSA-AES128-SHA", 1, "Unavailable"]]) {
  secure.setSecureContext({ cert, key, maxVersion: "TLSv1.2", ciphers });
  old = allowed;
  const { reasons } = await look_up(refusal("Internal"), { refusing: 0 });
  assert.deepEqual(reasons, outcome === "ok" ? [] : [STATUS.indexOf(outcome)], ciphers);
}
// The same curves as every other client.
old = 0;
for (const [ecdhCurve, reasons] of [["P-384", []], ["P-521", [STATUS.indexOf("Unavailable")]]]) {
  secure.setSecureContext({ cert, key, ecdhCurve });
  assert.deepEqual((await look_up("", { refusing: 0 })).reasons, reasons, ecdhCurve);
}
urls[2] = third;
ca_file = "";
rmSync(folder, { recursive: true });
assert.deepEqual((await look_up(refusal("Internal"), { timeout: Infinity })).reasons, [STATUS.indexOf("Internal")]);
// Ended by its caller as soon as something was sent.
const end = new AbortController(), began = performance.now();
await assert.rejects(look_up(http(200, TYPE, "silence").slice(0, -1), { refusing: 3, timeout: 60_000, signal: end.signal, onEvent: () => end.abort() }));
assert.ok(performance.now() - began < 30_000);
// onEvent may do what it likes to the request that it is shown, and is heard if it is async.
const scrub = ({ type, request }) => { if (type === "sent") structuredClone(request.fill(0), { transfer: [request.buffer] }); };
assert.equal((await look_up(refusal("Internal"), { onEvent: scrub })).servers[0].outcome, "ok");
await assert.rejects(look_up(refusal("Internal"), { onEvent: async () => { throw new RangeError("of the caller"); } }), RangeError);
// A loss that the module does not take ends a look-up only if the others' replies are too few.
assert.equal(new TextDecoder().decode((await look_up(refusal("Internal"), { deaf: true })).record), "record");
await assert.rejects(look_up(refusal("Internal"), { refusing: 2, deaf: true }), { code: STATUS[5], message: "no memory" });
await assert.rejects(look_up(refusal("Internal"), { refusing: 2 }), { code: STATUS[8] });
// Two servers that are the same instance are named.
const twice = (await look_up(http(200, TYPE + "Pirx-Instance: one\r\n", "a reply"), { refusing: 2 })).servers;
assert.deepEqual(twice.map(({ message }) => message.includes("the same instance")), [false, true, true]);
// A reply that is there is in time, however long the event loop stood still after it came.
let answers = 0;
answering = (answer) => setImmediate(() => {  // timers run next
  answer();
  if (++answers === 3) for (const end = performance.now() + 1200; performance.now() < end;);
});
assert.deepEqual((await look_up("", { refusing: 0, timeout: 1000 })).reasons, []);
answering = (answer) => answer();
// All rounds with a single server have a common end, and it is told the same timeout in each.
timeouts.clear();
delay = 300;
await assert.rejects(look_up("", { alone: true, timeout: 400 }), { code: STATUS[8] });
assert.deepEqual([...timeouts], [400]);
delay = 20;
// No page without randomness.
const { Pirx: InPage } = await import("data:text/javascript," + encodeURIComponent(source.replace(/^const NODE = .*$/m, "const NODE = false;")));
Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
await assert.rejects(InPage.load(new Uint8Array(1)), { code: "Unavailable", message: /crypto.getRandomValues/ });
// What is no key is not taken for one.
for (const key of ["\ud83d", {}, true, new Uint16Array(1)]) await assert.rejects(look_up("", { wish: key }), { code: "InvalidArgument" });
// Settings that are none are refused, and not taken for others. A list is the one that was given.
const wrong = { liars: [2 ** 32, 1.5, "x", null, -2], rounds: [2 ** 32, NaN, 9], maxBytes: [NaN, 1.5, -1, "1", null],
  timeout: [NaN, "5000", 0, -5], protocol: ["goldberg\0x"], options: [{ seeded: "on\0zz" }, { "seeded\0x": "on" }] };
for (const [name, values] of Object.entries(wrong)) {
  for (const value of values) {
    await assert.rejects(look_up("", { [name]: value }), { name: "PirxError", code: "InvalidArgument" }, `${name} ${String(value)}`);
  }
}
assert.equal((await look_up(refusal("Internal"), { liars: 0, rounds: 1, maxBytes: 1n })).servers[2].outcome, "ok");
const deployment = (await Pirx.load(new Uint8Array(1))).deployment("{}"), wishes = [0];
const looking = deployment.getMany(wishes);
wishes.push(1);
assert.equal((await looking).records.length, 1);
for (const none of ["key", [], Array(257).fill(0)]) await assert.rejects(deployment.getMany(none), { code: "InvalidArgument" });
// What was used is wiped and freed.
assert.deepEqual({ held, unwiped }, { held: 0, unwiped: 0 });
console.log(`${names.length} names, ${hostile.length} hostile replies, 3 losses`);
process.exit();  // the servers would stay
