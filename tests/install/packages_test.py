#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/package packs this build: what is in each Debian package, what it needs, and that lintian and systemd-analyze are
content where they are installed. tests/install/debian_root installs them in a fresh Debian.

    packages_test.py BUILD PIRX
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = PIRX = ""


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name)
        if shutil.which("lintian") is None:
            print("lintian is not installed: its checks are left out")
        (cls.path / "debs").mkdir()
        (cls.path / "debs/other_1.0.deb").write_text("not ours")
        done = subprocess.run([ROOT / "scripts/package", "--no-build", BUILD], capture_output=True, text=True,
                              env={**os.environ, "OUT": str(cls.path / "debs")})
        if "apt install" in done.stderr:
            raise unittest.SkipTest(done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr
        (cls.path / "debs/other_1.0.deb").unlink()  # what was there stays
        cls.packages, cls.fields = {}, {}
        for deb in (cls.path / "debs").glob("*.deb"):
            name = deb.name.split("_")[0]
            cls.packages[name] = cls.path / "root" / name
            cls.packages[name].parent.mkdir(exist_ok=True)
            run("dpkg-deb", "-R", deb, cls.packages[name])
            cls.fields[name] = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", deb).splitlines() if ": " in line)

    def holds(self, package, *names):
        for name in names:
            self.assertTrue((self.packages[package] / name).exists(), f"{name} is not in {package}")

    def test_the_parts(self):
        names = set(self.packages)
        self.assertLessEqual({"pirx", "pirx-server", "libpirx1", "libpirx-dev", "pirx-doc", "python3-pirx"}, names)
        version = re.search(r"^project\(pirx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        for name in names:
            self.assertTrue(self.fields[name]["Version"].startswith(version + "-"), self.fields[name])
            self.holds(name, f"usr/share/doc/{name}/copyright", f"usr/share/doc/{name}/changelog.Debian.gz",
                       "DEBIAN/md5sums")
            for script in ("preinst", "postinst", "prerm", "postrm"):
                if (self.packages[name] / "DEBIAN" / script).exists():
                    run("sh", "-n", self.packages[name] / "DEBIAN" / script)
        self.holds("pirx", "usr/bin/pirx", "usr/share/man/man1/pirx.1.gz", "usr/share/man/man1/pirx-db-build.1.gz",
                   "usr/share/bash-completion/completions/pirx", "usr/share/zsh/vendor-completions/_pirx",
                   "usr/share/fish/vendor_completions.d/pirx.fish")
        self.holds("libpirx1", "usr/lib/libpirx.so.1", "DEBIAN/triggers", "DEBIAN/shlibs")
        self.holds("libpirx-dev", "usr/include/pirx/pirx.h", "usr/lib/libpirx_client.a", "usr/lib/pkgconfig/pirx-c.pc",
                   "usr/lib/cmake/pirx/pirxConfig.cmake")
        self.assertTrue((self.packages["libpirx-dev"] / "usr/lib/libpirx.so").is_symlink())
        self.holds("python3-pirx", "usr/lib/python3/dist-packages/pirx/__init__.py",
                   f"usr/lib/python3/dist-packages/pirx-{version}.dist-info/METADATA")
        self.holds("pirx-doc", "usr/share/doc/pirx-doc/manual/docs/operations.md")
        self.assertEqual((self.packages["pirx-server"] / "DEBIAN/conffiles").read_text(), "/etc/pirx/server.json\n")

    def test_what_they_need(self):
        self.assertRegex(self.fields["pirx"]["Depends"], r"libc6 .*libcurl4 .*libssl3")
        self.assertNotIn("mpi", self.fields["pirx"]["Depends"])
        if "pirx-ranks" in self.packages:
            self.assertRegex(self.fields["pirx-ranks"]["Depends"], "libopenmpi3.*openmpi-bin|openmpi-bin.*libopenmpi3")
            self.holds("pirx-ranks", "usr/bin/pirx-ranks", "usr/share/man/man1/pirx-ranks.1.gz")
        self.assertIn(f"pirx (= {self.fields['pirx']['Version']})", self.fields["pirx-server"]["Depends"])
        for name in ("libpirx-dev", "python3-pirx"):
            self.assertIn(f"libpirx1 (= {self.fields['libpirx1']['Version']})", self.fields[name]["Depends"])
        for name in ("pirx-server", "python3-pirx", "pirx-doc"):
            self.assertEqual(self.fields[name]["Architecture"], "all")

    def test_nothing_of_the_machine_that_built_them(self):
        for package in self.packages.values():
            for path in package.rglob("*"):
                self.assertRegex(str(path.relative_to(package)), r"^(DEBIAN|usr|etc)(/|$)")
                if path.is_file() and not path.is_symlink():
                    self.assertNotIn(str(ROOT).encode(), path.read_bytes(), path)
        for program in ("pirx/usr/bin/pirx", "libpirx1/usr/lib/libpirx.so.1"):
            self.assertNotIn(".symtab", run("objdump", "-h", self.path / "root" / program))

    def test_the_service(self):
        unit = (self.packages["pirx-server"] / "usr/lib/systemd/system/pirx-server.service").read_text()
        command = re.search(r"^ExecStart=(/usr/bin/pirx) (.*)$", unit, re.MULTILINE)
        self.assertEqual(command[2], "serve --config /etc/pirx/server.json")
        # The example is understood; the database is for the operator to make.
        done = subprocess.run([PIRX, "serve", "--config", self.packages["pirx-server"] / "etc/pirx/server.json"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("/var/lib/pirx/example.pirx", done.stderr)
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not installed")
        checked = self.path / "pirx-server.service"
        checked.write_text(unit.replace(command[1], str(Path(PIRX).resolve())).replace(" file:///", " file:/"))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", checked], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # 10 is a service with all rights, 0 one with none.
        run("systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", checked)

    def test_the_service_may_make_every_call_that_it_makes(self):
        for program in ("strace", "systemd-analyze"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")

        def calls(name):
            lines = map(str.strip, run("systemd-analyze", "syscall-filter", name).splitlines()[2:])
            found = set()
            for line in lines:
                found |= calls(line) if line.startswith("@") else {line} - {""}
            return found

        unit = (self.packages["pirx-server"] / "usr/lib/systemd/system/pirx-server.service").read_text()
        self.assertEqual(re.findall("^SystemCallFilter=(.*)$", unit, re.MULTILINE), ["@system-service", "~@privileged"])
        allowed = (calls("@system-service") | calls("@default")) - calls("@privileged")
        trace, config, database = self.path / "trace", self.path / "server.json", self.path / "database.pirx"
        (self.path / "rows.csv").write_text("".join(f"name{i},value{i}\n" for i in range(100)))
        run(PIRX, "db", "build", database, self.path / "rows.csv", "--no-header", "--key", "1", "--keyed")
        names = ["goldberg", "chor", "dj-tree", "spiral", "download"]
        config.write_text(json.dumps({"listen": "127.0.0.1:0", "watch": "100ms", "databases": [
            {"name": name, "file": str(database), "protocol": name, **({"coordinate": 1} if name in names[:2] else {})}
            for name in names]}))
        server = subprocess.Popen(["strace", "-f", "-qq", "-o", trace, PIRX, "serve", "--config", config],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        try:
            port = re.fullmatch(r"listening on port (\d+)\n", server.stdout.readline())[1]
            for name in ("spiral", "download"):
                run(PIRX, "deploy", self.path / "deployment.json", "--force", "--server", f"http://127.0.0.1:{port}/v1/db/{name}")
                self.assertIn("value7", run(PIRX, "get", self.path / "deployment.json", "--key", "name7"))
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(timeout=60)
            server.stdout.close()
        text = trace.read_text()
        made = set(re.findall(r"^\d+ +(\w+)\(", text, re.MULTILINE))
        self.assertGreater(len(made), 30)
        self.assertEqual(made - allowed, set())
        self.assertNotIn("PROT_WRITE|PROT_EXEC", text)  # MemoryDenyWriteExecute


if __name__ == "__main__":
    PIRX = sys.argv.pop(2)
    BUILD = sys.argv.pop(1)
    unittest.main(verbosity=1)
