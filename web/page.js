// SPDX-License-Identifier: Apache-2.0
// The page: takes a wish, shows what each server gets and answers. Whatever comes from a server is shown as text only.
import { Pirx } from "./pirx.js";

const $ = (id) => document.getElementById(id);
const HEAD = 80;              // of a message, which says only what it is for
const ENOUGH = 5 * 256;       // bytes for a chi-square
const SAYS = { proven: "Proven", probable: "Probable: the record's digest fits", unverified: "Nothing checks what the servers said" };
const STATES = { ok: "told the truth", lied: "lied", suspected: "disagrees", silent: "no answer", refused: "refused",
  malformed: "sent no reply", stale: "has another version" };

let pirx, deployment, requests = [];

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function say(text, error = false) {
  $("status").textContent = text;
  $("status").className = error ? "error" : "";
}

/// Shows the servers of the chosen protocol; gives the cells of each row.
function rows() {
  const body = $("servers").tBodies[0];
  body.replaceChildren();
  return deployment.client($("protocol").value).servers.map((url) => {
    const row = body.insertRow();
    const cells = { row };
    for (const name of ["url", "state", "up", "down", "ms", "saw"]) {
      cells[name] = row.appendChild(element("td", "", ["up", "down", "ms"].includes(name) ? "number" : name));
    }
    cells.url.textContent = url;
    return cells;
  });
}

function use(text) {
  deployment = pirx.deployment(text);
  const { records, epoch, identity, keyed } = deployment.database;
  $("wish-label").textContent = keyed ? "Key" : `Position, 0 to ${records - 1n}`;
  $("about").textContent = `The database has ${records.toLocaleString()} records; its identity is ${identity.slice(0, 16)}…, epoch ${epoch}.`;
  $("protocol").replaceChildren(...deployment.protocols.map((name) => element("option", name)));
  $("protocol").hidden = $("protocol-label").hidden = deployment.protocols.length === 1;
  $("look-up").disabled = false;
  rows();
  say(deployment.client($("protocol").value).warning);
}

function wish() {
  const text = $("wish").value;
  if (deployment.database.keyed) return text;
  if (!/^-?[0-9]{1,100}$/.test(text)) throw new Error("a position is a whole number from 0");
  return BigInt(text);
}

/// UTF-8 as it is, other bytes in hexadecimal.
function readable(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return hex(bytes);
  }
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

/// How evenly the 256 values of a byte occur: about 255 for random bytes.
function chiSquare(bytes) {
  const counts = new Array(256).fill(0);
  for (const byte of bytes) ++counts[byte];
  const expected = bytes.length / 256;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

function showRequests() {
  $("requests").replaceChildren(element("p", "A request begins with a head that names the database and the server. What follows depends on " +
    "your key, but to one server alone it is random: look the same key up again, and every byte is another. For random bytes the " +
    "chi-square is between 199 and 318 in 99 of 100 cases. (Prime fields leave the top byte of an element 0, which it shows.)"));
  for (const { url, round, bytes } of requests) {
    const body = bytes.subarray(HEAD);
    const measure = body.length < ENOUGH ? `too few bytes for a chi-square` : `chi-square ${chiSquare(body).toFixed(1)}`;
    $("requests").append(element("h2", `${url}, round ${round}: ${bytes.length.toLocaleString()} bytes, ${measure}`),
      element("pre", hex(bytes.subarray(0, 512)) + (bytes.length > 512 ? " …" : "")));
  }
  $("requests").hidden = false;
}

function show(server, cells) {
  cells.up.textContent = server.bytesUp.toLocaleString();
  cells.down.textContent = server.bytesDown.toLocaleString();
  cells.ms.textContent = server.ms.toFixed(1);
  cells.state.textContent = (STATES[server.outcome] ?? server.outcome) + (server.message ? `: ${server.message}` : "");
  cells.row.className = server.outcome === "ok" ? "good" : "bad";
}

async function lookUp(event) {
  event.preventDefault();
  $("look-up").disabled = true;
  $("result").hidden = $("requests").hidden = $("show").hidden = true;
  requests = [];
  const table = rows();
  try {
    say("Asking…");
    const start = performance.now();
    const answer = await deployment.get(wish(), {
      protocol: $("protocol").value,
      onEvent: ({ type, server, url, round, request, bytes, message }) => {
        const cells = table[server];
        if (type === "sent") {
          requests.push({ url, round, bytes: request });
          cells.state.textContent = "asked";
          cells.up.textContent = request.length.toLocaleString();
          cells.saw.textContent = `${request.length.toLocaleString()} bytes that look random`;
        } else {
          cells.state.textContent = type === "received" ? `answered ${bytes.toLocaleString()} bytes` : message;
        }
      },
    });
    answer.servers.forEach((server, i) => show(server, table[i]));
    say(`Found out in ${(performance.now() - start).toFixed(0)} ms, ${answer.rounds === 1 ? "one round" : `${answer.rounds} rounds`}.`);
    const bound = answer.certainty === "proven" && answer.servers.length > 1
      ? `: right unless more than ${answer.proofBound} of the servers lied` : "";
    $("certainty").textContent = SAYS[answer.certainty] + bound;
    $("record").textContent = answer.record === null ? `${answer.certainty === "proven" ? "The database has" : "The servers say that they have"} no record with this key.` : readable(answer.record);
    $("result").hidden = false;
  } catch (error) {
    error.servers?.forEach((server, i) => show(server, table[i]));
    say(error.message, true);
  }
  $("show").hidden = requests.length === 0;
  $("look-up").disabled = false;
}

$("ask").addEventListener("submit", lookUp);
$("show").addEventListener("click", showRequests);
$("protocol").addEventListener("change", rows);
$("file").addEventListener("change", async () => {
  try {
    use(await $("file").files[0].text());
  } catch (error) {
    say(error.message, true);
  }
});
try {
  pirx = await Pirx.load("pirx.wasm");
  use(await (await fetch("deployment.json")).text());
} catch (error) {
  say(error.message, true);
}
