// SPDX-License-Identifier: Apache-2.0
// Microseconds of CPU time of a look-up by the WebAssembly client: look_ups.mjs FOLDER DEPLOYMENT COUNT KEY LENGTH. Prints
// two numbers: of look-ups, and of sending the same requests again and reading the replies by Node.js alone.
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { pathToFileURL } from "node:url";

const [folder, file, count, key, length] = process.argv.slice(2);
const { Pirx } = await import(pathToFileURL(`${folder}/pirx.js`));
const pirx = await Pirx.load(readFileSync(`${folder}/pirx.wasm`));
const deployment = pirx.deployment(readFileSync(file, "utf8"));
let requests = [];

async function look() {
  requests = [];
  const onEvent = ({ type, url, request }) => type === "sent" && requests.push({ url: `${url}/v1/query`, body: request });
  const { record } = await deployment.get(key, { onEvent });
  if (record?.length !== Number(length)) throw new Error("a wrong record came back");
}

async function messagesAlone() {
  await Promise.all(requests.map(({ url, body }) => new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/octet-stream", "Content-Length": body.length };
    const sent = request(url, { method: "POST", headers, agent: false }, async (reply) => {
      let bytes = 0;
      for await (const part of reply) bytes += part.length;
      if (reply.statusCode === 200 && bytes > 0) resolve();
      else reject(new Error("no reply"));
    });
    sent.on("error", reject);
    sent.end(body);
  })));
}

async function measure(work) {
  for (let i = 0; i < count; ++i) await work();  // so that it is compiled
  const start = process.cpuUsage();
  for (let i = 0; i < count; ++i) await work();
  const { user, system } = process.cpuUsage(start);
  return ((user + system) / count).toFixed(1);
}

console.log(await measure(look), await measure(messagesAlone));
