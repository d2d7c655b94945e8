#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages and completions of shells: all commands and options are in them, the shells read them, and bash, zsh and fish
complete by them. man, mandoc, zsh and fish are asked where they are installed.

    pages_test.py PIRX PIRX_WRITE_PAGES
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PIRX = WRITE_PAGES = ""


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def commands(path=()):
    """Every command's path and what its --help says."""
    said = run(PIRX, *path, "--help")
    yield path, said
    if " SUBCOMMAND" in said:  # its groups come after that of the options
        groups = said.split("\n\n", 2)[2].split("\nExample")[0] if path else said.split("\nOptions:\n")[1]
        for name in re.findall(r"^  ([a-z]+)", groups, flags=re.MULTILINE):
            yield from commands((*path, name))


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.pages = Path(folder.name) / "pages"
        run(WRITE_PAGES, cls.pages)
        cls.commands = dict(commands())

    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def test_every_command_and_option_has_its_place(self):
        self.assertGreater(len(self.commands), 15)
        wanted = {"-".join(("pirx", *path)) + ".1" for path in self.commands}
        self.assertEqual(wanted | {"pirx", "_pirx", "pirx.fish"}, {page.name for page in self.pages.iterdir() if page.is_file()})
        self.assertIn("\\-\\-shards\\-split", (self.pages / "ranks/pirx-ranks-serve.1").read_text())
        scripts = {name: (self.pages / name).read_text() for name in ("pirx", "_pirx", "pirx.fish")}
        for path, said in self.commands.items():
            page = (self.pages / ("-".join(("pirx", *path)) + ".1")).read_text().replace("\\-", "-")
            for option in re.findall(r"^  (?:-\w,)?(--[a-z0-9.-]+)", said, flags=re.MULTILINE):
                self.assertIn(f"\\fB{option}\\fR", page, path)
                self.assertIn(option, scripts["pirx"])
                self.assertIn(option, scripts["_pirx"])
                self.assertIn(f" -l {option[2:]}", scripts["pirx.fish"])

    def test_pages_without_a_warning(self):
        pages = sorted(self.pages.rglob("*.1"))
        for program in ("man", "mandoc"):
            if shutil.which(program) is None:
                print(f"{program} is not installed: left out")
                continue
            for page in pages:
                if program == "man":
                    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], capture_output=True, text=True,
                                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "120"})
                    self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)
                else:
                    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True)
                    self.assertEqual([line for line in done.stdout.splitlines() if "missing date" not in line], [])

    def test_bash(self):
        run("bash", "-n", self.pages / "pirx")
        self.assertEqual(run(PIRX, "completion", "bash"), (self.pages / "pirx").read_text())
        script = f"""
            source {self.pages}/pirx
            compopt() {{ echo "no file"; }}
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _pirx; echo "${{COMPREPLY[*]}}"
        """

        def completed(*words):
            return run("bash", "-c", script, "bash", "pirx", *words).strip()

        self.assertEqual(completed("d"), "db deploy")
        self.assertIn("build", completed("db", "").split())
        self.assertEqual(completed("get", "file", "--proto"), "--protocol")
        self.assertIn("spiral", completed("get", "file", "--protocol", "").split())
        self.assertEqual(completed("get", "file", "--protocol", "=", "sp"), "spiral")
        self.assertEqual(completed("get", "file", "--protocol", "="), completed("get", "file", "--protocol", ""))
        self.assertEqual(completed("db", "build", "--from", "c"), "csv")
        self.assertEqual(completed("completion", ""), "bash zsh fish")
        self.assertEqual(completed("get", ""), "")  # bash then offers files
        self.assertEqual(completed("get", "file", "--deadline", ""), "no file")

    def test_zsh(self):
        self.need("zsh")
        run("zsh", "-n", self.pages / "_pirx")
        defined = run("zsh", "-fc", f"autoload -U compinit; compinit -D -u; source {self.pages}/_pirx; "
                                    "whence -w _pirx_db_build _pirx_get; print -r -- $_comps[pirx]")
        self.assertEqual(defined.split(), ["_pirx_db_build:", "function", "_pirx_get:", "function", "_pirx"])

    def test_fish(self):
        self.need("fish")
        run("fish", "--no-execute", self.pages / "pirx.fish")

        def completed(line):
            said = run("fish", "--no-config", "-c", f"source {self.pages}/pirx.fish; complete -C '{line}'")
            return [line.split("\t")[0] for line in said.splitlines()]

        self.assertEqual(completed("pirx d"), ["db", "deploy"])
        self.assertIn("spiral", completed("pirx get file --protocol "))
        self.assertEqual(completed("pirx db build --from c"), ["csv"])
        self.assertEqual(completed("pirx get --proto"), ["--protocol"])

    def test_another_shell_is_refused(self):
        done = subprocess.run([PIRX, "completion", "tcsh"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("tcsh", done.stderr)


if __name__ == "__main__":
    WRITE_PAGES = sys.argv.pop(2)
    PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
