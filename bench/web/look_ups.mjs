// SPDX-License-Identifier: Apache-2.0
// Microseconds of CPU time of a look-up by the WebAssembly client, Node.js and its fetch included:
// look_ups.mjs FOLDER DEPLOYMENT COUNT KEY LENGTH.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file, count, key, length] = process.argv.slice(2);
const { Pirx } = await import(pathToFileURL(`${folder}/pirx.js`));
const pirx = await Pirx.load(readFileSync(`${folder}/pirx.wasm`));
const deployment = pirx.deployment(readFileSync(file, "utf8"));
const look = async () => {
  const { record } = await deployment.get(key);
  if (record?.length !== Number(length)) throw new Error("a wrong record came back");
};
for (let i = 0; i < count; ++i) await look();  // so that it is compiled
const start = process.cpuUsage();
for (let i = 0; i < count; ++i) await look();
const { user, system } = process.cpuUsage(start);
console.log(((user + system) / count).toFixed(1));
