#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/grafana/pirx.json is a dashboard, and its queries are about metrics and labels that a server has. The table of
docs/operations.md names the same metrics as a server. Where Debian's package prometheus is installed, promtool checks the
server's page, and a Prometheus that reads it answers every query of the dashboard.
   dashboard_test.py PIRX"""
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PIRX = None
PATIENCE = 60  # seconds; longer than anything takes that is going to happen
METRIC = r"\b(?:pirx|process)_\w+"


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as reply:
        return reply.read().decode()


def eventually(what):
    deadline = time.monotonic() + PATIENCE
    while not (result := what()):
        assert time.monotonic() < deadline, "patience has ended"
        time.sleep(0.1)
    return result


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dashboard = json.loads((ROOT / "docs/grafana/pirx.json").read_text())
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = Path(cls.folder.name)
        (path / "a.jsonl").write_text("".join(json.dumps({"k": f"key {i}", "v": "x" * 50}) + "\n" for i in range(50)))
        subprocess.run([PIRX, "db", "build", path / "a.pirx", path / "a.jsonl", "--key", "k", "--value", "v"], check=True,
                       capture_output=True)
        databases = [{"name": name, "file": str(path / "a.pirx"), "protocol": protocol, "coordinate": 1}
                     for name, protocol in (("packages", "goldberg"), ("lists", "chor"))]
        (path / "config.json").write_text(json.dumps({"listen": "127.0.0.1:0", "databases": databases}))
        cls.server = subprocess.Popen([PIRX, "serve", "--config", path / "config.json"], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(cls.server.stdout.close)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.kill)
        cls.address = "127.0.0.1:" + re.search(r"port (\d+)", cls.server.stdout.readline())[1]
        cls.load()
        # What is known of the content comes when the check in the background has ended.
        eventually(lambda: get(f"http://{cls.address}/metrics").count("\npirx_database_sound{") == 2)
        cls.page = get(f"http://{cls.address}/metrics")

    @classmethod
    def load(cls):
        for name in ("packages", "lists"):
            subprocess.run([PIRX, "load", f"http://{cls.address}/v1/db/{name}", "--connections", "2", "--duration", "200ms"],
                           check=True, capture_output=True)

    @classmethod
    def queries(cls):
        return [target["expr"] for panel in cls.dashboard["panels"] for target in panel.get("targets", [])] + \
               [annotation["expr"] for annotation in cls.dashboard["annotations"]["list"]]

    def labels(self):
        """Of every metric of the page, the names of its labels."""
        found = {}
        for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", self.page, re.M):
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
        return found

    def test_is_a_dashboard(self):
        d = self.dashboard
        self.assertEqual((d["uid"], d["title"]), ("pirx", "pirx"))
        self.assertGreaterEqual(d["schemaVersion"], 36)
        ids = [panel["id"] for panel in d["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        variables = {variable["name"]: variable for variable in d["templating"]["list"]}
        self.assertEqual(variables["datasource"]["type"], "datasource")
        self.assertEqual(variables["datasource"]["query"], "prometheus")
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(d)))
        self.assertEqual(used - {"__rate_interval", "__all"}, set(variables))
        covered = set()
        for panel in d["panels"]:
            self.assertIn(panel["type"], ("row", "stat", "timeseries"))
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24)
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & covered, f"{panel['title']} lies on another panel")
            covered |= cells
            if panel["type"] == "row":
                continue
            self.assertEqual(panel["datasource"], {"type": "prometheus", "uid": "${datasource}"})
            self.assertTrue(panel["title"] and panel["fieldConfig"]["defaults"]["unit"] and panel["targets"])
            references = [target["refId"] for target in panel["targets"]]
            self.assertEqual(len(references), len(set(references)))
            for target in panel["targets"]:
                self.assertTrue(target["legendFormat"])
        for row in ("Requests", "Refusals", "Passes", "Latency", "Epochs", "Memory"):
            self.assertTrue(any(p["type"] == "row" and p["title"].startswith(row) for p in d["panels"]), row)

    def test_queries_are_about_what_a_server_says(self):
        labels = self.labels()
        for query in self.queries():
            metrics = re.findall(METRIC, query)
            self.assertTrue(metrics, query)
            known = {"instance", "job"}.union(*(labels.get(metric, set()) for metric in metrics))
            for metric in metrics:
                self.assertIn(metric, labels, query)
            for label in re.findall(r"(\w+)\s*=~?\"", query):
                self.assertIn(label, known, query)
            for group in re.findall(r"\b(?:by|ignoring) \(([^)]*)\)", query):
                self.assertLessEqual(set(group.split(", ")), known, query)
        for panel in self.dashboard["panels"]:
            for target in panel.get("targets", []):
                shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
                known = {"instance"}.union(*(labels[metric] for metric in re.findall(METRIC, target["expr"])))
                self.assertLessEqual(shown, known, target)
        for variable in self.dashboard["templating"]["list"][1:]:
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            self.assertIn(label, labels[metric] | {"instance"})

    def test_the_manual_names_the_metrics_of_a_server(self):
        manual = (ROOT / "docs/operations.md").read_text()
        table = re.search(r"^## Metrics\n(.*?)^##", manual, re.M | re.S)[1]
        rows = "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
        self.assertEqual(set(re.findall(METRIC, rows)), set(re.findall(r"^# TYPE (\S+)", self.page, re.M)))

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool_finds_nothing_wrong(self):
        done = subprocess.run(["promtool", "check", "metrics"], input=self.page, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
    def test_prometheus_answers_every_query(self):
        path = Path(self.folder.name)
        (path / "prometheus.json").write_text(json.dumps({
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
            "scrape_configs": [{"job_name": "pirx", "static_configs": [{"targets": [self.address]}]}]}))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with subprocess.Popen(["prometheus", f"--config.file={path}/prometheus.json", f"--storage.tsdb.path={path}/tsdb",
                               f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as prometheus:
            def ask(query):
                try:
                    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
                    return json.loads(get(url))["data"]["result"]
                except urllib.error.HTTPError as error:
                    self.assertEqual(error.code, 503, f"{query}: {error.read()}")
                except (urllib.error.URLError, ConnectionError):
                    pass
                return []  # it is starting
            try:
                eventually(lambda: ask("count_over_time(pirx_queries_total[1m]) > 2"))
                self.load()  # rates need counters that rise while they are looked at
                for query in self.queries():
                    query = query.replace("$instance", ".*").replace("$database", ".*").replace("$__rate_interval", "1m")
                    if "changes(" in query:
                        self.assertEqual(ask(query), [], "the server was not started again")
                        continue
                    result = eventually(lambda query=query: ask(query))
                    self.assertFalse([series for series in result if series["value"][1] in ("+Inf", "-Inf")], query)
            finally:
                prometheus.terminate()


if __name__ == "__main__":
    PIRX = sys.argv.pop(1)
    unittest.main()
