#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in headless Chromium, driven by its DevTools protocol over pipes, against real servers and hostile ones.

    chromium_test.py PIRX FOLDER-OF-THE-PAGE CHROMIUM [--picture FILE.png]
"""
import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support import HTML, RECORDS, Served, record

FOLDER = CHROMIUM = PICTURE = ""


class Browser:
    """One page of a Chromium with a profile of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self.write = os.pipe()
        self.read, from_child = os.pipe()
        script = f'exec 3<&{to_child} 4>&{from_child}; exec "$0" "$@"'
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.child = subprocess.Popen(
            ["bash", "-c", script, CHROMIUM, "--headless=new", *sandbox, "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={self.folder.name}", "about:blank"],
            pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer, self.count, self.events, self.session = b"", 0, [], None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.child.kill()
        self.child.wait()
        os.close(self.read)
        os.close(self.write)
        self.folder.cleanup()

    def message(self, end):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(0, end - time.monotonic()))
            part = os.read(self.read, 1 << 16) if ready else b""
            if not part:
                raise AssertionError("Chromium did not answer in time, or ended")
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        self.count += 1
        whole = {"id": self.count, "method": method, "params": params}
        if self.session:
            whole["sessionId"] = self.session
        os.write(self.write, json.dumps(whole).encode() + b"\0")
        end = time.monotonic() + 100
        while True:
            got = self.message(end)
            if got.get("id") == self.count:
                if "error" in got:
                    raise AssertionError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def until(self, script, seconds=100):
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            if time.monotonic() > end:
                raise AssertionError(f"never: {script}\n" + self.run("document.body.innerText"))
            time.sleep(0.05)
        return value


class Page(Served):
    def open(self, database, count, *words, modes={}):
        """A browser that shows the page of a server beside those of the deployment."""
        # The page's server has to know the deployment, and the servers the page's origin: so they let any page ask.
        deployment = self.servers(database, count, "--cors", "*", *words, modes=modes)
        url = self.serve(database, "--listen", "127.0.0.1:0", *(["--coordinate", "9"] if count > 1 else []), "--web", deployment.name,
                         "--web-folder", FOLDER, *words)
        browser = Browser()
        self.addCleanup(browser.close)
        browser.call("Page.navigate", url=url + "/")
        browser.until("document.readyState === 'complete' && document.getElementById('look-up')?.disabled === false")
        return browser

    def look_up(self, browser, wish):
        browser.run(f"document.getElementById('wish').value = {json.dumps(wish)}; document.getElementById('look-up').click()")
        browser.until("document.getElementById('look-up').disabled === false && document.getElementById('status').textContent !== 'Asking…'")
        return browser.run("""({ status: document.getElementById('status').textContent,
            record: document.getElementById('record').textContent, hidden: document.getElementById('result').hidden,
            certainty: document.getElementById('certainty').textContent,
            rows: [...document.querySelectorAll('#servers tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent)),
            title: document.title, images: document.images.length })""")

    def test_a_liar_among_four(self):
        browser = self.open("keyed.pirx", 4, modes={2: "lie"})
        told = self.look_up(browser, "key1234")
        self.assertEqual(told["record"], record(1234))
        self.assertIn("Proven", told["certainty"])
        self.assertEqual([row[1].partition(":")[0] for row in told["rows"]], ["told the truth", "told the truth", "lied", "told the truth"])
        for row in told["rows"]:
            self.assertGreater(int(row[2].replace(",", "")), 0)
            self.assertGreater(int(row[3].replace(",", "")), 0)
            self.assertIn("look random", row[5])
        self.assertEqual((told["title"], told["images"]), ("pirx: a private look-up", 0))  # HTML in the record is text
        browser.run("document.getElementById('show').click()")
        self.assertEqual(browser.run("document.querySelectorAll('#requests h2').length"), 4)
        self.assertIn("chi-square", browser.run("document.getElementById('requests').textContent"))
        if PICTURE:
            browser.run("document.getElementById('show').scrollIntoView(); document.getElementById('requests').hidden = true")
            browser.call("Emulation.setDeviceMetricsOverride", width=1000, height=640, deviceScaleFactor=1, mobile=False)
            browser.run("window.scrollTo(0, 0)")
            shot = browser.call("Page.captureScreenshot", format="png")
            Path(PICTURE).write_bytes(base64.b64decode(shot["data"]))
        missing = self.look_up(browser, "nobody")
        self.assertEqual(missing["record"], "The database has no record with this key.")
        # Nothing broke the policy, and no other host was asked.
        browser.run("0")
        self.assertEqual([e for e in browser.events if e["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")], [])
        asked = {e["params"]["request"]["url"].split("/")[2].split(":")[0] for e in browser.events
                 if e["method"] == "Network.requestWillBeSent" and e["params"]["request"]["url"].startswith("http")}
        self.assertEqual(asked, {"127.0.0.1"})

    def test_hostile_servers(self):
        for mode, part in (("huge", "longer than the"), ("html", "not of type"), ("refuse", HTML)):
            with self.subTest(mode):
                browser = self.open("keyed.pirx", 3, modes={1: mode})
                told = self.look_up(browser, "key5")
                self.assertEqual(told["record"], record(5), told)
                self.assertIn(part, told["rows"][1][1])
                self.assertEqual((told["title"], told["images"]), ("pirx: a private look-up", 0))

    def test_a_server_that_never_answers(self):
        told = self.look_up(self.open("keyed.pirx", 3, modes={1: "silent"}), "key5")
        self.assertEqual(told["record"], record(5), told)
        self.assertIn("did not reply in time", told["rows"][1][1])

    def test_one_server_and_positions(self):
        for protocol in ("spiral", "download"):
            with self.subTest(protocol):
                browser = self.open("plain.pirx", 1, "--protocol", protocol)
                self.assertEqual(self.look_up(browser, "17")["record"], record(17))
                self.assertIn("whole number", self.look_up(browser, "x")["status"])
                self.assertIn("no such record", self.look_up(browser, str(RECORDS))["status"])

    def test_the_policy_keeps_scripts_away(self):
        browser = self.open("keyed.pirx", 3)
        self.assertFalse(browser.run("""new Promise((done) => { window.taken = false;
            const script = document.createElement('script'); script.textContent = 'window.taken = true'; document.body.append(script);
            setTimeout(() => done(window.taken), 200); })"""))
        self.assertEqual(browser.run("fetch('http://127.0.0.1:1/').then(() => 'asked', () => 'refused')"), "refused")
        self.assertTrue(any("Content Security Policy" in json.dumps(event) for event in browser.events))


if __name__ == "__main__":
    if "--picture" in sys.argv:
        at = sys.argv.index("--picture")
        PICTURE = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    Served.pirx, FOLDER, CHROMIUM = map(os.path.abspath, sys.argv[1:4])
    del sys.argv[1:4]
    unittest.main()
