// SPDX-License-Identifier: Apache-2.0
// Types of pirx.js: private look-ups from a browser, a worker or Node.js. docs/browser.md shows how to use them.

/** The names of the statuses of <pirx/pirx.h>. */
export type Code = "InvalidArgument" | "OutOfRange" | "DataLoss" | "Unavailable" | "ResourceExhausted" | "Unauthenticated"
  | "StaleEpoch" | "Undecodable" | "Internal" | "BufferTooSmall";

/** What every call throws. The message is for people, and holds no key, position or record. */
export class PirxError extends Error {
  readonly code: Code;
  /** What is known of the servers, if a look-up failed. */
  servers?: Server[];
}

export type Outcome = "ok" | "lied" | "suspected" | "silent" | "refused" | "malformed" | "stale";

export interface Server {
  url: string;
  bytesUp: number;
  bytesDown: number;
  /** From sending the requests to the end of the replies. */
  ms: number;
  outcome: Outcome;
  /** What was wrong with it, for people; "" if nothing was. It may quote the server: show it as text. */
  message: string;
}

export interface Answers {
  /** The record of each wish; null if the database has none with this key. They come from servers: never use them as HTML. */
  records: (Uint8Array | null)[];
  certainty: "proven" | "probable" | "unverified";
  /** If it is proven: the answer is right unless more servers than this lied. With one server, the
   * records are those of the identity in the deployment, which may be that server's own word. */
  proofBound: number;
  rounds: number;
  servers: Server[];
}

/** Of one wish. */
export type Answer = Omit<Answers, "records"> & { record: Uint8Array | null };

export type Event = { server: number; url: string; round: number } & (
  | { type: "sent"; request: Uint8Array }
  | { type: "received"; bytes: number }
  | { type: "lost"; message: string });

export interface Settings {
  /** One of deployment.protocols; the first if it is not given. */
  protocol?: string;
  /** Options of the protocol's client, as `pirx get --help` lists them: { seeded: "on" }. */
  options?: Record<string, string | number>;
  /** Milliseconds that a server may take in a round, a day at most. 10000; with one server, which may compute for long,
   * 600000. For all rounds together one server has them twice, four times for a key. */
  timeout?: number;
  /** Ends the look-up, which then throws. */
  signal?: AbortSignal;
  /** How many lying servers to be safe from; as many as can be if it is not given. */
  liars?: number;
  /** The most rounds, of which those after the first tell liars apart, 1 to 8; 4 if it is not given. */
  rounds?: number;
  /** The most bytes that a plan may ask this client to send and to take; 256 MiB if it is not given, at most 1 GiB. */
  maxBytes?: number | bigint;
  /** Told of every message. What it throws ends the look-up after the round. It is not waited for if it is async: what it
   * is rejected with ends the look-up likewise, or is dropped if that comes after the last round. */
  onEvent?: (event: Event) => void;
}

export type Wish = string | Uint8Array | number | bigint;

export interface Client {
  readonly servers: readonly string[];
  /** What the user should be told before it is used; usually "". */
  readonly warning: string;
  /** Frees its memory, and wipes its keys once look-ups that have begun are over. The next look-up makes another client. */
  close(): void;
}

/** What a deployment file says. Get it from somebody you trust. */
export interface Deployment {
  readonly database: { identity: string; epoch: bigint; records: bigint; recordBytes: bigint; keyed: boolean };
  readonly protocols: readonly string[];
  /** The client of a protocol, which serves all look-ups. */
  client(protocol?: string, options?: Record<string, string | number>): Client;
  /** Looks up a key, or a position if the database has no keys. Each server is sent one message a round and waited for. */
  get(wish: Wish, settings?: Settings): Promise<Answer>;
  /** Looks up to 256 of them up together: servers see how many. One after another they would see more: when each look-up
   * begins tells how long the one before took to read. */
  getMany(wishes: readonly Wish[], settings?: Settings): Promise<Answers>;
  /** Frees its memory and that of its clients. Look-ups that have begun go on; another one is InvalidArgument. */
  close(): void;
}

export class Pirx {
  /** Loads pirx.wasm from an address or from its bytes. Throws Unavailable where there is no crypto.getRandomValues. */
  static load(source: string | URL | ArrayBuffer | ArrayBufferView): Promise<Pirx>;
  readonly version: string;
  /** Reads the text of a deployment file. The memory that it takes stays taken until close(). Names of certificate files
   * (ca_file) in it are relative to `folder`, where Node.js runs this; a browser uses none. */
  deployment(text: string, folder?: string): Deployment;
}
