#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/wheel makes a wheel; a venv installs it without a network; the examples of docs/python.md and the README run in
it as printed, and mypy --strict is content. Where setuptools, venv or mypy are missing, that part is left out and said.

    wheel_test.py LIBRARY PROGRAM
"""
import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = PROGRAM = ""


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def run_examples():
    """In the venv: runs every pycon block of the files named, and says how many examples passed."""
    import pirx
    assert "site-packages" in pirx.__file__, pirx.__file__
    for page in map(Path, sys.argv[2:]):
        blocks = re.findall(r"```pycon\n(.*?)```", page.read_text(), flags=re.DOTALL)
        test = doctest.DocTestParser().get_doctest("".join(blocks), {}, page.name, str(page), 0)
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
        if result.failed or not result.attempted:
            sys.exit(f"{page}: {result}")
        print(page.name, result.attempted)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name)
        cls.bare = {name: value for name, value in os.environ.items() if not name.startswith(("PIRX_", "PYTHON"))}
        done = subprocess.run([ROOT / "scripts/wheel", LIBRARY, PROGRAM], env={**cls.bare, "OUT": str(cls.path)},
                              capture_output=True, text=True)
        if "apt install" in done.stderr:
            raise unittest.SkipTest(done.stderr)
        assert done.returncode == 0, done.stderr
        (cls.wheel,) = cls.path.glob("*.whl")

    def test_what_it_holds(self):
        self.assertRegex(self.wheel.name, r"^pirx-[0-9.]+-py3-none-linux_\w+\.whl$")
        names = zipfile.ZipFile(self.wheel).namelist()
        for wanted in ("pirx/py.typed", "pirx/_bundled/libpirx.so.1", "pirx/_bundled/pirx", "LICENSE", "THIRD_PARTY.md",
                       "nlohmann-json3-dev.copyright", "libexpected-dev.copyright", "libcli11-dev.copyright"):
            self.assertTrue(any(name.endswith(wanted) for name in names), f"{wanted} is not in {names}")
        self.assertLess(self.wheel.stat().st_size, 12 << 20)

    def test_it_is_made_the_same_again(self):
        again = self.path / "again"
        again.mkdir()
        other = again / "pirx-0.1-py3-none-linux_x86_64.whl"
        other.touch()
        run(ROOT / "scripts/wheel", LIBRARY, PROGRAM, env={**self.bare, "OUT": str(again)})
        self.assertTrue(other.exists())
        self.assertEqual((again / self.wheel.name).read_bytes(), self.wheel.read_bytes())

    def test_installed_in_a_venv(self):
        venv = self.path / "venv"
        made = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", venv], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"no venv: {made.stdout} {made.stderr}")
        python = venv / "bin/python"
        run(python, "-m", "pip", "install", "--no-index", "--quiet", self.wheel, env=self.bare)
        here = {**self.bare, "PATH": "/usr/bin:/bin"}  # without any other pirx
        out = run(python, Path(__file__).resolve(), "--examples", ROOT / "docs/python.md", ROOT / "README.md",
                  cwd=self.path, env=here)
        self.assertRegex(out, r"python.md \d\d\nREADME.md \d+\n")
        out = run(python, "-c", "import pirx; print(pirx.__version__); help(pirx.Client)", cwd=self.path, env=here)
        self.assertRegex(out, r"^\d+\.\d+\.\d+\n")
        self.assertIn("deadline", out)
        run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pirx", env=self.bare)
        self.assertEqual(list(venv.glob("lib/*/site-packages/pirx*")), [])

    def test_types(self):
        if shutil.which("mypy") is None:
            self.skipTest("mypy is not installed")
        run("mypy", "--strict", "--python-version", "3.11", "--cache-dir", self.path / "mypy", "pirx", cwd=ROOT / "python")
        wrong = self.path / "wrong.py"
        wrong.write_text("import pirx\nx: int = pirx.Deployment.load('a').get('b')\n")
        done = subprocess.run(["mypy", "--strict", "--cache-dir", self.path / "mypy", wrong], capture_output=True, text=True,
                              env={**os.environ, "MYPYPATH": str(ROOT / "python")})
        self.assertIn('variable has type "int"', done.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "--examples":
        run_examples()
    else:
        PROGRAM, LIBRARY = sys.argv.pop(2), sys.argv.pop(1)
        unittest.main()
