// SPDX-License-Identifier: Apache-2.0
// Private look-ups from a browser: drives the retrievals of <pirx/pirx.h>, compiled to WebAssembly, with fetch.
// Types and what each call does: pirx.d.ts. How to use it: docs/browser.md.

const STATUS = ["Ok", "InvalidArgument", "OutOfRange", "DataLoss", "Unavailable", "ResourceExhausted", "Unauthenticated",
  "StaleEpoch", "Undecodable", "Internal", "BufferTooSmall"];
const INTERNAL = STATUS.indexOf("Internal");
const OUTCOME = ["ok", "lied", "suspected", "silent", "refused", "malformed", "stale"];
const CERTAINTY = ["proven", "probable", "unverified"];
const SEND = 1, FINISH = 3;
const MOST_WISHES = 256;  // that servers take in one message
const KEY_QUERIES = 3;  // that a key takes with a single server
const DAY = 86_400_000;  // the most that a server takes for a timeout
const FIELD_TYPE = "\x2a\x86\x48\xce\x3d\x01"; // 1.2.840.10045.1 of X9.62
const MAX_REFUSAL = 16 * 1024, MAX_AUTHORITIES_BYTES = 1 << 19, MAX_AUTHORITIES = 1000;
const NODE = Boolean(globalThis.process?.versions?.node);

const zero = (text) => {
  if (String(text).includes("\0")) throw new PirxError("InvalidArgument", "a name or an option has a zero byte in it");
  return new TextEncoder().encode(text + "\0");
};
const whole = (name, value, least, most) => {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new PirxError("InvalidArgument", `${name} is a whole number from ${least} to ${most}`);
  }
  return value;
};

export class PirxError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "PirxError";
    this.code = code;
  }
}

/// The WebAssembly module: memory, and the functions of pirx.h with their errors thrown.
class Machine {
  #exports;
  #stderr = "";
  #dead = "";
  files;  // of Node.js

  async start(source) {
    if (NODE) this.files = await import("node:fs");
    const random = globalThis.crypto ?? (NODE ? (await import("node:crypto")).webcrypto : undefined); // Node.js 18 has no global one
    if (typeof random?.getRandomValues !== "function") {
      throw new PirxError("Unavailable", "there is no crypto.getRandomValues here, so that no query could hide anything");
    }
    const bytes = (at, size) => new Uint8Array(this.#exports.memory.buffer, at, size);
    const wasi = {
      random_get: (at, size) => {
        for (let i = 0; i < size; i += 65536) random.getRandomValues(bytes(at + i, Math.min(65536, size - i)));
        return 0;
      },
      fd_write: (file, parts, count, written) => {
        let total = 0;
        for (let i = 0; i < count; ++i) {
          const size = this.u32(parts + 8 * i + 4);
          this.#stderr += new TextDecoder().decode(bytes(this.u32(parts + 8 * i), size).slice());
          total += size;
        }
        this.setU32(written, total);
        return 0;
      },
      clock_time_get: (_clock, _precision, at) => {
        this.view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
      environ_sizes_get: (count, size) => (this.setU32(count, 0), this.setU32(size, 0), 0),
      environ_get: () => 0,
      fd_close: () => 8,
      fd_seek: () => 8,
      proc_exit: () => { throw new Error("it ended"); },
    };
    const imports = { wasi_snapshot_preview1: wasi };
    const whole = source instanceof ArrayBuffer || ArrayBuffer.isView(source);
    const { instance } = whole ? await WebAssembly.instantiate(source, imports)
      : await WebAssembly.instantiateStreaming(fetch(source), imports);
    this.#exports = instance.exports;
    this.#exports._initialize();
  }

  /// What the function `name` returns. After a trap (memory is out) nothing in the module can be trusted.
  run(name, ...values) {
    if (this.#dead) throw new PirxError("Internal", this.#dead);
    try {
      return this.#exports[name](...values);
    } catch (error) {
      this.#dead = `pirx stopped: ${this.#stderr || error.message}; load it again`;
      throw new PirxError(this.#stderr.includes("memory") ? "ResourceExhausted" : "Internal", this.#dead);
    }
  }
  /// Calls a function that returns a status.
  call(name, ...values) {
    const status = this.run(name, ...values);
    if (status === 0) return;
    const message = this.within(4, (at) => (this.run("pirx_last_error", at), this.text(this.u32(at))));
    throw new PirxError(STATUS[status] ?? "Internal", message);
  }
  /// Calls work(address) with so many bytes of memory, which are wiped afterwards.
  within(size, work) {
    const at = this.run("malloc", size || 1);
    if (at === 0) throw new PirxError("ResourceExhausted", "out of memory");
    try {
      this.bytes(at, size).fill(0);
      return work(at);
    } finally {
      if (!this.#dead) {
        this.bytes(at, size).fill(0);
        this.run("free", at);
      }
    }
  }
  /// Calls work(address, size) with a copy of these bytes.
  with(data, work) {
    return this.within(data.length, (at) => (this.bytes(at, data.length).set(data), work(at, data.length)));
  }
  /// The number that a function writes to its last argument.
  out(name, ...values) {
    return this.within(8, (at) => (this.call(name, ...values, at), this.u32(at)));
  }
  bytes(at, size) { return new Uint8Array(this.#exports.memory.buffer, at, size); }
  view() { return new DataView(this.#exports.memory.buffer); }
  u32(at) { return this.view().getUint32(at, true); }
  u64(at) { return this.view().getBigUint64(at, true); }
  setU32(at, value) { this.view().setUint32(at, value, true); }
  text(at) {
    const memory = new Uint8Array(this.#exports.memory.buffer);
    return new TextDecoder().decode(memory.slice(at, memory.indexOf(0, at)));
  }
}

export class Pirx {
  #machine;
  /// Loads the module from a URL, or from its bytes.
  static async load(source) {
    const pirx = new Pirx();
    pirx.#machine = new Machine();
    await pirx.#machine.start(source);
    return pirx;
  }
  get version() { return this.#machine.text(this.#machine.run("pirx_version")); }
  deployment(text, folder = ".") { return new Deployment(this.#machine, text, folder); }
}

class Deployment {
  #machine;
  #handle;
  #clients = new Map();

  constructor(machine, text, folder) {
    this.#machine = machine;
    this.#handle = machine.with(new TextEncoder().encode(text),
      (at, size) => machine.with(zero(folder), (where) => machine.out("pirx_deployment_parse", at, size, where)));
    const count = machine.out("pirx_deployment_protocols", this.#handle);
    this.protocols = Array.from({ length: count }, (_, i) => machine.text(machine.out("pirx_deployment_protocol", this.#handle, i)));
    this.database = machine.within(64, (at) => {
      machine.call("pirx_deployment_database", this.#handle, at);
      const hex = Array.from(machine.bytes(at, 32), (byte) => byte.toString(16).padStart(2, "0")).join("");
      return { identity: hex, epoch: machine.u64(at + 32), records: machine.u64(at + 40), recordBytes: machine.u64(at + 48),
        keyed: machine.u32(at + 56) === 1 };
    });
  }

  /// The client of a protocol and of these options, made once: { handle, warning, servers, tls, close }.
  client(protocol = this.protocols[0], options = {}) {
    const name = JSON.stringify([protocol, options]);
    if (!this.#clients.has(name)) {
      const client = this.#make(protocol, Object.entries(options));
      client.close = () => {
        if (this.#clients.get(name) !== client) return;
        this.#clients.delete(name);
        this.#machine.call("pirx_client_free", client.handle);
      };
      this.#clients.set(name, client);
    }
    return this.#clients.get(name);
  }
  close() {
    for (const client of [...this.#clients.values()]) client.close();
    const handle = this.#handle;
    this.#handle = 0;
    this.#machine.call("pirx_deployment_free", handle);
  }
  #make(protocol, options) {
    const machine = this.#machine;
    const texts = [protocol, ...options.flat().map(String)];
    const made = (places) => machine.within(8 * options.length, (table) => {
      places.slice(1).forEach((at, i) => machine.setU32(table + 4 * i, at));
      return machine.out("pirx_client_create", this.#handle, places[0], table, options.length);
    });
    const place = (i, places) => i === texts.length ? made(places)
      : machine.with(zero(texts[i]), (at) => place(i + 1, [...places, at]));
    const handle = place(0, []);
    try {
      let warning = machine.text(machine.out("pirx_client_warning", handle));
      const tls = [], kinds = new Map();  // of each server, for Node.js: one for all with the same authorities
      const servers = Array.from({ length: machine.out("pirx_client_servers", handle) }, (_, i) => machine.within(16, (at) => {
        machine.call("pirx_client_server", handle, i, at);
        const file = machine.text(machine.u32(at + 8));
        const minVersion = machine.u32(at + 12) !== 0 ? "TLSv1.2" : "TLSv1.3";
        const ca = file && NODE ? authorities(machine.files, file) : undefined, kind = JSON.stringify([minVersion, ca?.toString("latin1")]);
        if (!kinds.has(kind)) kinds.set(kind, { minVersion, ...(ca && { ca }) });
        tls.push(kinds.get(kind));
        if (file && !NODE) warning ||= "the deployment names certificate authorities (ca_file): a browser asks its own";
        return machine.text(machine.u32(at)) + machine.text(machine.u32(at + 4)).replace(/(^\/v1)?\/query$/, "");
      }));
      return { handle, warning, servers, tls };
    } catch (error) { // a ca_file that cannot be read
      machine.call("pirx_client_free", handle);
      throw error;
    }
  }

  async get(wish, settings) {
    const { records: [record], ...rest } = await this.getMany([wish], settings);
    return { record, ...rest };
  }

  async getMany(wishes, settings = {}) {
    const { protocol, options, onEvent = () => {}, signal, liars = -1, rounds = 0, maxBytes = 0 } = settings;
    const machine = this.#machine;
    if (!Array.isArray(wishes)) throw new PirxError("InvalidArgument", "give an array of keys or positions");
    if (wishes.length < 1 || wishes.length > MOST_WISHES) {
      throw new PirxError("InvalidArgument", `ask for 1 to ${MOST_WISHES} records at a time, not ${wishes.length}`);
    }
    wishes = [...wishes];  // the caller may change the array while servers are asked
    whole("liars", liars, -1, 2 ** 31 - 1);
    whole("rounds", rounds, 0, 8);
    const client = this.client(protocol, options);
    const wanted = settings.timeout ?? (client.servers.length > 1 ? 10_000 : 600_000);
    if (typeof wanted !== "number" || !(wanted > 0)) throw new PirxError("InvalidArgument", "timeout is a number of milliseconds above 0");
    const timeout = Math.max(1, Math.round(Math.min(wanted, DAY)));
    // A single server decides how many rounds there are, and could be just in time in each: all have this time.
    const queries = wishes.length * (this.database.keyed ? KEY_QUERIES : 1);
    const last = client.servers.length > 1 ? Infinity : performance.now() + timeout * (1 + queries);
    const servers = client.servers.map((url) => ({ url, bytesUp: 0, bytesDown: 0, ms: 0, outcome: "silent", message: "" }));
    signal?.throwIfAborted();
    const instances = new Map();
    const retrieval = this.#begin(client, wishes, liars, rounds, maxBytes, timeout);
    let answer = 0, unsettled, thrown;
    try {
      for (let round = 1; ; ++round) {
        const messages = [];
        for (;;) {
          const message = this.#next(retrieval);
          if (message.action === FINISH) {
            answer = machine.out("pirx_retrieval_finish", retrieval);
            return this.#read(answer, wishes.length, servers);
          }
          if (message.action !== SEND) break;
          messages.push(message);
        }
        if (messages.length === 0) throw unsettled ?? new PirxError("Internal", "a round without messages");
        // Every server is waited for, so that no connection's end tells how the others answered. What a caller's onEvent throws,
        // or its promise is rejected with by then, is thrown after that.
        await Promise.all(messages.map(async (message) => {
          const server = servers[message.server];
          const event = (type, more) => {
            const told = onEvent({ type, round, server: message.server, url: server.url, ...more });
            Promise.resolve(told).catch((error) => { thrown ??= error; });
          };
          const start = performance.now();
          let settled = false;
          try {
            server.bytesUp += message.data.length;
            event("sent", { request: message.data.slice() });
            const { reply, instance } = await ask(message, client.tls[message.server], timeout, last, signal, (count) => { server.bytesDown += count; });
            const same = instance && (instances.get(instance) ?? instances.set(instance, server).get(instance));
            if (same && same !== server) {
              for (const [one, other] of [[same, server], [server, same]]) {
                one.message ||= `names the same instance as ${other.url}: are they one server, or does one claim to be the other?`;
              }
            }
            machine.with(reply, (at, size) => {
              settled = true;
              machine.call("pirx_retrieval_receive", retrieval, message.id, at, size);
            });
            server.ms += performance.now() - start;
            event("received", { bytes: reply.length });
          } catch (error) {
            server.ms += performance.now() - start;
            server.message = error.message;
            try {
              if (!settled) this.#lose(retrieval, message.id, error instanceof Lost ? error : new Lost("Unavailable", error.message));
            } catch (other) {
              unsettled ??= other; // The other servers' replies may do without this one.
            }
            try {
              if (!(error instanceof PirxError)) throw error;
              event("lost", { message: error.message });
            } catch (other) {
              thrown ??= other;
            }
          }
        }));
        if (thrown) throw thrown;
        signal?.throwIfAborted();
      }
    } catch (error) {
      if (error instanceof PirxError) error.servers = servers;
      throw error;
    } finally {
      if (answer !== 0) machine.call("pirx_answer_free", answer);
      machine.call("pirx_retrieval_free", retrieval);
    }
  }

  #begin(client, wishes, liars, rounds, maxBytes, timeout) {
    const machine = this.#machine;
    if (typeof maxBytes !== "bigint") whole("maxBytes", maxBytes, 0, Number.MAX_SAFE_INTEGER);
    if (maxBytes < 0 || maxBytes > 1 << 30) throw new PirxError("InvalidArgument", "maxBytes is at most 2^30: WebAssembly has 32 bits");
    return machine.within(64, (options) => {
      machine.call("pirx_options_init", options, 64);
      machine.setU32(options + 4, liars);
      machine.setU32(options + 8, rounds);
      if (client.servers.length > 1) machine.setU32(options + 12, 1);
      machine.view().setBigUint64(options + 32, BigInt(maxBytes), true);
      machine.view().setBigUint64(options + 56, BigInt(timeout), true);
      const count = wishes.length, isPosition = (wish) => typeof wish === "number" || typeof wish === "bigint";
      if (wishes.some(isPosition)) {
        return machine.within(8 * count, (at) => {
          wishes.forEach((wish, i) => {
            if (typeof wish !== "bigint" && !Number.isInteger(wish)) {
              throw new PirxError("InvalidArgument", "a position is a whole number from 0");
            }
            // Others are asked for all the same, or servers would see that nothing is asked: no database has this one.
            const none = (1n << 64n) - 1n, position = BigInt(wish);
            machine.view().setBigUint64(at + 8 * i, position >= 0n && position < none ? position : none, true);
          });
          return machine.out("pirx_retrieval_begin_positions", client.handle, at, count, options);
        });
      }
      const keys = wishes.map((wish) => {
        if (wish instanceof Uint8Array) return wish;
        if (typeof wish === "string" && !/\p{Cs}/u.test(wish)) return new TextEncoder().encode(wish);
        throw new PirxError("InvalidArgument", "a key is a string, without half characters, or a Uint8Array");
      });
      const size = keys.reduce((sum, key) => sum + key.length, 0);
      return machine.within(size, (data) => machine.within(8 * count, (at) => {
        keys.forEach((key, i) => {
          machine.bytes(data, key.length).set(key);
          machine.setU32(at + 8 * i, data);
          machine.setU32(at + 8 * i + 4, key.length);
          data += key.length;
        });
        return machine.out("pirx_retrieval_begin_keys", client.handle, at, count, options);
      }));
    });
  }

  #next(retrieval) {
    const machine = this.#machine;
    return machine.within(48, (at) => {
      machine.call("pirx_retrieval_next", retrieval, at);
      const action = machine.u32(at);
      if (action !== SEND) return { action };
      return { action, id: machine.u64(at + 8), server: machine.u32(at + 16), maxReply: Number(machine.u64(at + 40)),
        url: machine.text(machine.u32(at + 20)) + machine.text(machine.u32(at + 24)),
        data: machine.bytes(machine.u32(at + 28), machine.u32(at + 32)).slice() };
    });
  }

  /// The name of the reason is the server's word: only what pirx_retrieval_lost takes is passed on.
  #lose(retrieval, id, lost) {
    const machine = this.#machine;
    const named = STATUS.indexOf(lost.code), why = named >= 1 && named <= INTERNAL ? named : INTERNAL;
    machine.with(new TextEncoder().encode(lost.message + "\0"),
      (at) => machine.call("pirx_retrieval_lost", retrieval, id, why, at));
  }

  #read(answer, count, servers) {
    const machine = this.#machine;
    return machine.within(16, (at) => {
      const records = Array.from({ length: count }, (_, i) => {
        machine.call("pirx_answer_record", answer, i, at);
        const found = machine.u32(at + 8) === 1;
        return found ? machine.bytes(machine.u32(at), machine.u32(at + 4)).slice() : null;
      });
      machine.call("pirx_answer_summary", answer, at);
      const summary = { certainty: CERTAINTY[machine.u32(at)], proofBound: machine.u32(at + 8), rounds: machine.u32(at + 12) };
      servers.forEach((server, i) => { server.outcome = OUTCOME[machine.out("pirx_answer_server", answer, i)]; });
      return { records, ...summary, servers };
    });
  }
}

/// Why there is no reply.
class Lost extends PirxError {}

/// The text of a file of certificate authorities. Reads no more than it may have, whatever its size is said to be.
function authorities(files, name) {
  let file;
  try {
    file = files.openSync(name, files.constants.O_RDONLY | files.constants.O_NONBLOCK);
    const text = Buffer.alloc(MAX_AUTHORITIES_BYTES + 1);
    let size = 0;
    if (files.fstatSync(file).isFile()) {
      for (let part; size < text.length && (part = files.readSync(file, text, size, text.length - size, null)) > 0;) size += part;
      const read = text.subarray(0, size); // each handshake takes as long as the square of the number of certificates
      const parts = read.toString("latin1").split("-----BEGIN ").slice(1);
      // What is between dashes is base64. A certificate with an elliptic curve of its own may take half a second to read.
      const long = parts.some((part) => {
        const body = part.split("-----")[1] ?? "";
        return body.includes(":") || Buffer.from(body, "base64").includes(FIELD_TYPE, 0, "latin1");
      });
      if (size <= MAX_AUTHORITIES_BYTES && parts.length <= MAX_AUTHORITIES && !long) return read;
    }
  } catch (error) {
    throw new PirxError("Unavailable", `the ca_file of a server cannot be read: ${error.code}`);
  } finally {
    if (file !== undefined) files.closeSync(file);
  }
  throw new PirxError("Unavailable",
    "the ca_file of a server is no file of 512 KiB and 1000 certificates at most, all of which name their elliptic curves");
}

/// Sends a message once and reads the reply, at most as long as a valid one is. `tls`: options of node:https.
async function ask(message, tls, timeout, last, signal, count) {
  const end = new AbortController();
  const stop = () => end.abort();
  // Timers run before what has arrived is read: a reply that is there is in time, also after another server kept the event loop busy.
  const timer = setTimeout(() => NODE ? setImmediate(stop) : stop(), Math.max(0, Math.min(timeout, last - performance.now())));
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop(); // by onEvent, for example
  try {
    const post = NODE ? postInNode : postInPage;
    const { status, header, parts } = await post(message.url, message.data, end.signal, tls,
      { "Content-Type": "application/octet-stream", "Pirx-Timeout": String(timeout) });
    if (status !== 200) {
      const text = new TextDecoder().decode(await read(parts, MAX_REFUSAL, count));
      throw new Lost(header("Pirx-Error") ?? (status >= 500 ? "Unavailable" : "DataLoss"), reason(text, status));
    }
    if (header("Content-Type")?.split(";")[0].trim().toLowerCase() !== "application/octet-stream") {
      throw new Lost("DataLoss", "its reply is not of type application/octet-stream: is this a pirx server?");
    }
    if (header("Content-Encoding") !== null) throw new Lost("DataLoss", "its reply is compressed, which no pirx server does");
    const reply = await read(parts, message.maxReply, count);
    end.signal.throwIfAborted(); // without Content-Length, a reply that was cut off looks like a whole one
    return { reply, instance: header("Pirx-Instance") };
  } catch (error) {
    if (error instanceof Lost) throw error;
    if (signal?.aborted) throw new Lost("Unavailable", "the look-up was ended");
    if (end.signal.aborted) throw new Lost("Unavailable", "did not reply in time");
    if (!NODE) throw new Lost("Unavailable", "cannot be reached, or does not let pages of this origin ask it (pirx serve --cors)");
    const untrusted = /^(?!ERR_SSL)\w*(CERT|VERIFY)/.test(error.code); // with ERR_SSL the server says something of the client's
    throw new Lost("Unavailable", `${untrusted ? "its certificate is not trusted" : "cannot be reached"}: ${error.code ?? "no reply"}`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    end.abort();
  }
}

/// Both: the reply's status, headers (null: there is none) and parts, once its header has come.
async function postInPage(url, body, signal, tls, headers) {
  const response = await fetch(url, { method: "POST", body, signal, headers, mode: "cors", credentials: "omit", cache: "no-store",
    redirect: "error", referrerPolicy: "no-referrer" });
  const parts = async function* () {
    const reader = response.body.getReader();
    for (let part; !(part = await reader.read()).done;) yield part.value;
  };
  return { status: response.status, header: (name) => response.headers.get(name), parts: parts() };
}

/// Without fetch: that of Node.js ends the whole process over certain replies that it refuses, decodes compressed ones, resumes TLS
/// sessions, and keeps connections until the program ends, so that servers see how long decoding took. TLS as every other client has it.
const TLS = { ciphers: "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20",
  ecdhCurve: "X25519:P-256:P-384", rejectUnauthorized: true }; // whatever NODE_TLS_REJECT_UNAUTHORIZED says
async function postInNode(url, body, signal, tls, headers) {
  const secure = url.toLowerCase().startsWith("https:");
  const { request } = await import(secure ? "node:https" : "node:http");
  if (secure) { // made once: reading the authorities takes long, and the event loop waits
    const { createSecureContext } = await import("node:tls");
    tls.secureContext ??= createSecureContext({ ...TLS, ...tls });
  }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", signal, headers: { ...headers, "Content-Length": body.length }, agent: false, lookup, ...TLS,
      ...tls }, (reply) => {
      reply.on("error", () => {}); // whoever reads it is told, too
      resolve({ status: reply.statusCode, header: (name) => reply.headers[name.toLowerCase()] ?? null, parts: reply });
    });
    sent.on("error", reject);
    sent.on("close", () => reject(new Error("no reply"))); // also without an error, for example where the server answers 101
    sent.end(body);
  });
}

/// As dns.lookup, but one at a time for each name: a name that is resolved slowly would take all of Node.js's few threads, and the other
/// servers could not be asked. At most eight addresses: Node.js tries all by recursion, and thousands would end the process.
const looking = new Map();
function lookup(host, options, done) {
  const name = JSON.stringify([host, options]);
  if (!looking.has(name)) {
    const found = import("node:dns").then(({ promises }) => promises.lookup(host, options));
    looking.set(name, found);
    found.catch(() => {}).then(() => looking.delete(name));
  }
  looking.get(name).then((found) => options.all ? done(null, found.slice(0, 8)) : done(null, found.address, found.family), done);
}

async function read(source, most, count) {
  let whole = new Uint8Array(Math.min(most, 65536)), size = 0; // the parts are not kept: they may have a byte each
  for await (const part of source) {
    count(part.length);
    const end = size + part.length;
    if (end > most) throw new Lost("DataLoss", `its reply is longer than the ${most} bytes that it can have`);
    if (end > whole.length) {
      const longer = new Uint8Array(Math.min(most, Math.max(end, 2 * whole.length)));
      longer.set(whole);
      whole = longer;
    }
    whole.set(part, size);
    size = end;
  }
  return whole.subarray(0, size);
}

function reason(text, status) {
  try {
    const { message } = JSON.parse(text).error;
    if (typeof message === "string" && message !== "") return message.slice(0, 1024).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
  } catch { /* said below */ }
  return `answered HTTP ${status}: is this a pirx server?`;
}
