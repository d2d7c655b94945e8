// SPDX-License-Identifier: Apache-2.0
// Looks things up as a page does, in Node.js: reads lines of JSON {deployment, wish, ...settings}, writes one for each.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, trick] = process.argv.slice(2);
if (trick === "no-crypto") Object.defineProperty(globalThis, "crypto", { value: undefined });
const { Pirx } = await import(pathToFileURL(`${folder}/pirx.js`));
const plain = (_, value) => typeof value === "bigint" ? Number(value) : value;
const load = () => Pirx.load(readFileSync(`${folder}/pirx.wasm`));
let pirx = null;
for await (const line of createInterface({ input: process.stdin })) {
  const { deployment, wish, cpu, again, ...settings } = JSON.parse(line);
  let told;
  try {
    pirx ??= await load();
    const opened = pirx.deployment(readFileSync(deployment, "utf8"), dirname(deployment));
    const events = [];
    const onEvent = ({ type, server, round, request }) => {
      events.push([type, server, round, request?.length]);
      if (type === settings.fault) throw new RangeError("of the caller");
    };
    if (settings.abort) settings.signal = AbortSignal.timeout(settings.abort);
    const before = process.cpuUsage();
    const many = Array.isArray(wish); // getMany
    const answer = await opened[many ? "getMany" : "get"](wish, { ...settings, onEvent });
    const { user, system } = process.cpuUsage(before);
    if (again) { // with a new client each time, and as often with a new deployment; then with what is closed
      const external = process.memoryUsage().external;
      for (let i = 0; i < again; ++i) {
        opened.client(settings.protocol, settings.options).close();
        await opened.get(wish, settings);
        const other = pirx.deployment(readFileSync(deployment, "utf8"), dirname(deployment));
        const answer = other.get(wish, settings);
        other.close();
        await answer; // it had begun
        other.close();
      }
      console.log(JSON.stringify({ grown: process.memoryUsage().external - external }));
      opened.close();
      await opened.get(wish, settings);
    }
    const text = (bytes) => bytes && new TextDecoder().decode(bytes);
    told = { ...answer, record: text(answer.record), records: answer.records?.map(text), events, database: opened.database, protocols: opened.protocols, cpu: cpu && (user + system) / 1000 };
  } catch (error) {
    told = { name: error.name, code: error.code, message: error.message, servers: error.servers };
  }
  console.log(JSON.stringify(told, plain));
}
