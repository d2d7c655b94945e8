// SPDX-License-Identifier: Apache-2.0
// Microseconds of CPU time of a look-up by the WebAssembly client: look_ups.mjs FOLDER DEPLOYMENT COUNT KEY LENGTH. Prints
// two numbers: with Node.js's fetch, and of fetch alone, which sends the same requests again and reads the replies.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file, count, key, length] = process.argv.slice(2);
const { Pirx } = await import(pathToFileURL(`${folder}/pirx.js`));
const pirx = await Pirx.load(readFileSync(`${folder}/pirx.wasm`));
const deployment = pirx.deployment(readFileSync(file, "utf8"));
let requests = [];

async function look() {
  requests = [];
  const onEvent = ({ type, url, request }) => type === "sent" && requests.push({ url: `${url}/v1/query`, request });
  const { record } = await deployment.get(key, { onEvent });
  if (record?.length !== Number(length)) throw new Error("a wrong record came back");
}

async function fetchAlone() {
  await Promise.all(requests.map(async ({ url, request }) => {
    const headers = { "Content-Type": "application/octet-stream" };
    const response = await fetch(url, { method: "POST", body: request, headers });
    if (response.status !== 200 || (await response.arrayBuffer()).byteLength === 0) throw new Error("no reply");
  }));
}

async function measure(work) {
  for (let i = 0; i < count; ++i) await work();  // so that it is compiled
  const start = process.cpuUsage();
  for (let i = 0; i < count; ++i) await work();
  const { user, system } = process.cpuUsage(start);
  return ((user + system) / count).toFixed(1);
}

console.log(await measure(look), await measure(fetchAlone));
