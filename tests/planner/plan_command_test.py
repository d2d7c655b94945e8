#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pirx plan` as a user runs it: JSON that parses, a file of rates that is kept, refusals, and the scripts that draw from it.

    plan_command_test.py PIRX
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PIRX = ""
ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--records", "200", "--record-bytes", "40", "--modulus", "1024", "--down", "1M", "--up", "100k", "--cores", "1"]


def run(*words, code=0, **options):
    done = subprocess.run([PIRX, "plan", *map(str, words)], capture_output=True, text=True, timeout=300, **options)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
    return done


class PlanCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.rates = Path(cls.folder.name) / "rates.json"
        cls.plan = json.loads(run(*SMALL, "--servers", "3", "--rates", cls.rates, "--json", "--curves").stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_json_names_every_scheme(self):
        names = {offer["scheme"] for offer in self.plan["offers"]} | {left["scheme"] for left in self.plan["left_out"]}
        self.assertLessEqual({"download", "goldberg", "chor", "dpf", "dj-tree", "spiral", "inspire", "qr"}, names)
        for offer in self.plan["offers"]:
            self.assertGreater(offer["total_seconds"], 0, offer)
        totals = [offer["total_seconds"] for offer in self.plan["offers"]]
        self.assertEqual(totals, sorted(totals))
        self.assertTrue(self.plan["advice"])

    def test_rates_are_kept_and_used(self):
        before = self.rates.read_text()
        self.assertEqual(json.loads(before)["pirx_rates"], 1)
        again = json.loads(run(*SMALL, "--servers", "3", "--rates", self.rates, "--json").stdout)
        self.assertEqual(again["offers"], self.plan["offers"])
        self.assertEqual(self.rates.read_text(), before)

    def test_rates_of_another_machine_are_not_completed(self):
        rates = json.loads(self.rates.read_text())
        rates["machine"] = "another"
        other = Path(self.folder.name) / "other.json"
        other.write_text(json.dumps(rates))
        self.assertIn("Rates of: another", run(*SMALL, "--servers", "3", "--rates", other).stdout)
        self.assertIn("is not known", run(*SMALL, "--servers", "5", "--rates", other, code=5).stderr)

    def test_damaged_rates_are_refused(self):
        bad = Path(self.folder.name) / "bad.json"
        good = json.loads(self.rates.read_text())
        for damaged in ("", "[]", "{}", '{"pirx_rates": 2}', json.dumps({**good, "rates": {"hash/6": -1}}),
                        json.dumps({**good, "rates": {"hash/6": "fast"}}), json.dumps({**good, "rates": {"nonsense": 1}})):
            bad.write_text(damaged)
            self.assertIn("bad.json", run(*SMALL, "--rates", bad, code=4).stderr)
            self.assertEqual(bad.read_text(), damaged)

    def test_table_says_which_pays(self):
        printed = run(*SMALL, "--servers", "3", "--queries", "7", "--rates", self.rates).stdout
        self.assertIn("pays below", printed)
        self.assertIn(self.plan["offers"][0]["scheme"], printed)

    def test_nonsense_is_refused(self):
        size = ["--records", "100", "--record-bytes", "100"]
        for words, code, part in (
            ([], 2, "no records"),
            (["--records", "100"], 2, "no bytes"),
            ([*size, "--down", "0"], 1, "no bandwidth like"),
            ([*size, "--down", "-5M"], 1, "no bandwidth like"),
            ([*size, "--up", "nan"], 1, "no bandwidth like"),
            ([*size, "--up", "inf"], 1, "no bandwidth like"),
            ([*size, "--down", "10 parsecs"], 1, "no bandwidth like"),
            ([*size, "--down", "1e300"], 1, "no bandwidth like"),
            ([*size, "--servers", "2", "--collusion", "2"], 2, "they are one"),
            ([*size, "--modulus", "1000"], 2, "1000"),
            (["--records", "18446744073709551615", "--record-bytes", "1000"], 2, "2^56"),
            ([*size, "--records", "-1"], 1, "records"),
            ([*size, "--rtt", "-1s"], 1, "rtt"),
            ([*size, "--cores", "0"], 1, "cores"),
            ([*size, "--queries", "0"], 1, "queries"),
            ([*size, "--curves"], 2, "--json"),
            (["/nowhere.pirx"], 5, "/nowhere.pirx"),
        ):
            self.assertIn(part, run(*words, code=code).stderr, words)

    def test_what_a_server_holds(self):
        folder = Path(self.folder.name)
        (folder / "lines.txt").write_text("".join(f"record {i}\n" for i in range(300)))
        done = subprocess.run([PIRX, "db", "build", folder / "db.pirx", folder / "lines.txt", "--from", "lines"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        server = subprocess.Popen([PIRX, "serve", folder / "db.pirx", "--coordinate", "1", "--listen", "127.0.0.1:0"],
                                  stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            port = server.stdout.readline().split()[-1]
            words = ["--down", "1M", "--modulus", "1024", "--rates", self.rates, "--cores", "1", "--json"]
            plan = json.loads(run("--server", f"http://127.0.0.1:{port}", *words).stdout)
            local = json.loads(run(folder / "db.pirx", *words).stdout)
        finally:
            server.terminate()
            server.communicate(timeout=60)
        self.assertEqual(plan["records"], 300)
        self.assertGreater(plan["link"]["round_trip"], 0)
        self.assertEqual(local["link"]["round_trip"], 0)
        download = next(o for o in local["offers"] if o["scheme"] == "download")
        self.assertEqual(download["round_trips_once"], 2)
        self.assertGreater(download["bytes_once"], 300 * local["record_bytes"])
        self.assertEqual([o["bytes_up"] for o in sorted(plan["offers"], key=lambda o: o["scheme"])],
                         [o["bytes_up"] for o in sorted(local["offers"], key=lambda o: o["scheme"])])
        run("--server", f"http://127.0.0.1:{port}", *words, code=5)
        self.assertIn("give a database, or --server", run("--server", "http://127.0.0.1:1", folder / "db.pirx", code=2).stderr)

    def test_keys_are_downloaded_too(self):
        folder = Path(self.folder.name)
        (folder / "keys.csv").write_text("k,v\n" + "".join(f"{i:0500},{i}\n" for i in range(300)))
        done = subprocess.run([PIRX, "db", "build", folder / "keys.pirx", folder / "keys.csv", "--key", "k", "--value", "v"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        server = subprocess.Popen([PIRX, "serve", folder / "keys.pirx", "--protocol", "download", "--listen", "127.0.0.1:0"],
                                  stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            port = server.stdout.readline().split()[-1]
            for source in ([folder / "keys.pirx"], ["--server", f"http://127.0.0.1:{port}"]):
                plan = json.loads(run(*source, "--down", "1M", "--modulus", "1024", "--rates", self.rates, "--cores", "1", "--json").stdout)
                download = next(o for o in plan["offers"] if o["scheme"] == "download")
                self.assertGreater(download["bytes_once"], 300 * 500)
        finally:
            server.terminate()
            server.communicate(timeout=60)

    def test_plot(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("no matplotlib")
        picture = Path(self.folder.name) / "plan.png"
        subprocess.run([ROOT / "bench/planner/plot", picture], input=json.dumps(self.plan), text=True, check=True, timeout=120)
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
        refused = subprocess.run([ROOT / "bench/planner/plot", picture], input="{}", text=True, capture_output=True, timeout=120)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("pirx plan", refused.stderr)


if __name__ == "__main__":
    PIRX = sys.argv.pop(1)
    unittest.main()
