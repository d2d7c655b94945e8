#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files that others' machines read: CITATION.cff has what its format asks for and CMake's version, the workflows of
GitHub Actions run scripts that exist, with no more rights than to read. With actionlint, where it is installed, too."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:  # Debian's package is for Debian's Python
    if sys.executable == "/usr/bin/python3":
        sys.exit("no module yaml: run scripts/setup, or apt install python3-yaml")
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


class ProjectFiles(unittest.TestCase):
    def test_citation(self):
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
        self.assertEqual(citation["cff-version"], "1.2.0")
        self.assertEqual((citation["type"], citation["license"]), ("software", "Apache-2.0"))
        version = re.search(r"^project\(pirx VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        self.assertEqual(citation["version"], version)
        self.assertTrue(citation["message"] and citation["title"] and citation["authors"][0]["name"])
        self.assertGreaterEqual(len(citation["references"]), 5)
        for paper in citation["references"]:
            self.assertIn(paper["type"], ("article", "conference-paper", "report"))
            self.assertIsInstance(paper["year"], int)
            self.assertTrue(paper["title"])
            for author in paper["authors"]:
                self.assertEqual(set(author), {"family-names", "given-names"})

    def test_workflows(self):
        runs = {}
        for path in WORKFLOWS:
            # YAML 1.1 takes the word "on" for true.
            workflow = {"on" if key is True else key: value for key, value in yaml.safe_load(path.read_text()).items()}
            self.assertEqual(workflow["permissions"], {"contents": "read"}, path)
            self.assertTrue(workflow["on"], path)
            for job in workflow["jobs"].values():
                self.assertGreater(job["timeout-minutes"], 0, path)
                for step in job["steps"]:
                    self.assertEqual(len({"uses", "run"} & set(step)), 1, path)
                    self.assertNotIn("${{", step.get("run", ""), "an expression in a script is a script of others")
                    runs.setdefault(path.name, []).append(step.get("run", step.get("uses")))
        self.assertEqual({name: steps[-1] for name, steps in runs.items()},
                         {"ci.yml": ".ci/run", "nightly.yml": "scripts/nightly"})
        for steps in runs.values():
            self.assertTrue(os.access(ROOT / steps[-1], os.X_OK), steps[-1])

    def test_scripts_find_their_folder_whatever_cdpath_is(self):
        with tempfile.TemporaryDirectory() as other:
            (Path(other) / "scripts").mkdir()
            done = subprocess.run(["scripts/lines"], cwd=ROOT, env=os.environ | {"CDPATH": other}, capture_output=True, text=True)
        self.assertIn(" src", done.stdout)
        for script in [*(ROOT / "scripts").iterdir(), ROOT / "examples/ct/demo"]:
            if script.is_file():
                self.assertNotRegex(script.read_text(errors="replace"), r'(?m)^cd "\$\(dirname', script)

    @unittest.skipUnless(shutil.which("actionlint"), "actionlint is not installed")
    def test_actionlint(self):
        done = subprocess.run(["actionlint", *WORKFLOWS], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
