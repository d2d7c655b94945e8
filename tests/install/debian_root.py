#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the Debian packages in a fresh Debian, looks records up, upgrades over an older version, and purges them.

    debian_root.py [--base FOLDER] [--boot] [BUILD]

BUILD is a release build (build/release), whose target pirx_installed is made first. Needs root, debootstrap and Debian's
mirror, and takes minutes: scripts/nightly runs it. --base keeps the fresh Debian in FOLDER, or takes the one that is there.
systemd does not run in a chroot: the command of the unit file is run as its user, and systemd-analyze verifies the unit.
--boot also boots a copy by systemd-nspawn (package systemd-container), where service_check.sh runs the service itself.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNIT = "usr/lib/systemd/system/pirx-server.service"
CITIES = {"ann": "Oslo", "bob": "Rome", "caroline": "San Sebastián"}


def say(text):
    print(f"==== {text}", flush=True)


def run(*words, code=0, **options):
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800,
                          **options)
    if done.returncode != code:
        sys.exit(f"FAILED: {' '.join(map(str, words))}: exit {done.returncode}, not {code}\n{done.stdout[-8000:]}")
    return done.stdout


def expect(good, what):
    if not good:
        sys.exit(f"FAILED: {what}")


class Root:
    """The fresh Debian, with /proc and the network's names."""

    def __init__(self, path):
        self.path = path
        self.children = []
        shutil.copy("/etc/resolv.conf", path / "etc/resolv.conf")
        for proxy in Path("/etc/apt/apt.conf.d").glob("*proxy*"):
            shutil.copy(proxy, path / "etc/apt/apt.conf.d")
        run("mount", "-t", "proc", "proc", path / "proc")

    def close(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        run("umount", self.path / "proc")

    def words(self, *words):
        return ["chroot", str(self.path), "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root",
                "DEBIAN_FRONTEND=noninteractive",
                *(f"{name}={value}" for name, value in os.environ.items() if name.lower() in ("http_proxy", "https_proxy")),
                *map(str, words)]

    def __call__(self, *words, **options):
        return run(*self.words(*words), **options)

    def apt(self, *words):
        return self("apt-get", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=60", *words)

    def serve(self, command):
        """A server as the user of the unit; its process and its port."""
        child = subprocess.Popen(self.words("setpriv", "--reuid=pirx", "--regid=pirx", "--clear-groups", "--no-new-privs",
                                            *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.children.append(child)
        log = []
        threading.Thread(target=lambda: log.extend(child.stderr), daemon=True).start()
        line = child.stdout.readline()
        found = re.fullmatch(r"listening on port (\d+)\n", line)
        if not found:
            child.wait(timeout=60)
            sys.exit(f"FAILED: {command} says '{line}' and {log}")
        return child, found[1]

    def write(self, name, text):
        (self.path / name.lstrip("/")).write_text(text)

    def named_pirx(self):
        """All files of that name, but the sources of this test."""
        found = self("find", "/", "-xdev", "-not", "-path", "/packages*", "-not", "-path", "/proc/*", "-iname", "*pirx*")
        return found.split()


def config(root, coordinate):
    return json.dumps({"listen": "127.0.0.1:0", "databases": [
        {"name": "cities", "file": "/var/lib/pirx/cities.pirx", "coordinate": coordinate}]})


def look_up(root, command):
    """Three servers by the unit's command, and look-ups from the command line and from Python."""
    ports = []
    for coordinate in (1, 2, 3):
        file = "/etc/pirx/server.json" if coordinate == 1 else f"/root/server{coordinate}.json"
        if coordinate > 1:
            root.write(file, config(root, coordinate))
            root("install", "-o", "pirx", file, f"/var/lib/pirx/server{coordinate}.json")
            file = f"/var/lib/pirx/server{coordinate}.json"
        child, port = root.serve([file if word == "/etc/pirx/server.json" else word for word in command])
        ports.append((child, port))
    urls = [word for _, port in ports for word in ("--server", f"http://127.0.0.1:{port}/v1/db/cities")]
    root("pirx", "deploy", "/root/cities.json", "-t", 1, *urls)
    for name, city in CITIES.items():
        expect(city in root("pirx", "get", "/root/cities.json", "--key", name, "-q"), f"pirx get finds {name}")
    root("pirx", "get", "/root/cities.json", "--key", "nobody", "-q", code=3)
    said = root("python3", "-c", "import pirx; print(pirx.__file__, pirx.Deployment.load('/root/cities.json').get('bob').decode())")
    expect("dist-packages" in said and "Rome" in said, f"python3-pirx looks up: {said}")
    for child, _ in ports:
        child.terminate()
        expect(child.wait(timeout=60) == 0, "a server ends well at SIGTERM")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--boot", action="store_true")
    parser.add_argument("build", nargs="?", default=str(ROOT / "build/release"))
    args = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        sys.exit("debian_root.py needs root and debootstrap: apt install debootstrap")
    if args.boot and shutil.which("systemd-nspawn") is None:
        sys.exit("--boot needs systemd-nspawn: apt install systemd-container")

    with tempfile.TemporaryDirectory(prefix="pirx-debian-") as folder:
        folder = Path(folder)
        say("packages of this version and of an older one")
        run("cmake", "--build", args.build, "--target", "pirx_installed")
        version = re.search(r"^project\(pirx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        for name, number in (("old", "0.0.1"), ("new", "")):
            run(ROOT / "scripts/package", "--no-build", args.build,
                env={**os.environ, "OUT": str(folder / name), "VERSION": number})

        say("a fresh Debian")
        base = args.base or folder / "base"
        if not (base / "usr").exists():
            run("debootstrap", "--variant=minbase", "bookworm", base, "http://deb.debian.org/debian")
        run("cp", "-a", "--reflink=auto", base, folder / "root")
        run("mkdir", folder / "root/packages")
        for name in ("old", "new"):
            run("cp", "-r", folder / name, folder / "root/packages")
        root = Root(folder / "root")
        try:
            check(root, version, folder / "booted" if args.boot else None)
        finally:
            root.close()
    print("debian_root passed")


def boot(root, copy):
    """Runs service_check.sh in a copy of the root that systemd boots, without a network."""
    run("cp", "-a", "--reflink=auto", "--one-file-system", root.path, copy)
    shutil.copy(ROOT / "tests/install/service_check.sh", copy / "root")
    units = copy / "etc/systemd/system"
    (units / "check.service").write_text("[Service]\nType=oneshot\nExecStart=/root/service_check.sh\n")
    (units / "multi-user.target.wants").mkdir(exist_ok=True)
    (units / "multi-user.target.wants/check.service").symlink_to("../check.service")
    said = subprocess.run(["systemd-nspawn", "-q", "-D", copy, "--private-network", "--register=no", "--keep-unit", "-b"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200).stdout
    log = copy / "root/service_check.log"
    text = log.read_text() if log.exists() else said.decode(errors="replace")
    expect(text.endswith("exit 0\n") or "\nexit 0\n" in text, f"the service under systemd:\n{text[-8000:]}")


def check(root, version, copy):
    root.apt("update")
    expect(root.named_pirx() == [], "a fresh Debian knows nothing of pirx")

    say("apt install ./pirx_*.deb alone: the command line")
    root.apt("install", *names(root, "old", "pirx_"))
    expect(root("pirx", "--version").strip() == version, "pirx runs")
    expect("libmpi" not in root("ldd", "/usr/bin/pirx"), "pirx needs no MPI")

    say("all packages, of the older version")
    root.apt("install", *names(root, "old"))
    expect(not list((root.path / "etc/systemd/system").rglob("pirx-server*")), "the service is not enabled")
    root("systemd-analyze", "verify", "--man=no", f"/{UNIT}")
    command = re.search(r"^ExecStart=(.*)$", (root.path / UNIT).read_text(), re.MULTILINE)[1].split()
    expect(re.search(r"^pirx:x:\d+:\d+:pirx server:/var/lib/pirx:\S*nologin$", (root.path / "etc/passwd").read_text(),
                     re.MULTILINE), "there is a user pirx")

    say("a database, three servers, look-ups")
    root.write("/root/cities.csv", "name,city\n" + "".join(f"{name},{city}\n" for name, city in CITIES.items()))
    root("pirx", "db", "build", "/root/cities.pirx", "/root/cities.csv", "--key", "name", "--value", "city", "--keyed")
    root("install", "-d", "-o", "pirx", "-g", "pirx", "-m", "0750", "/var/lib/pirx")
    root("install", "-o", "pirx", "-g", "pirx", "-m", "0640", "/root/cities.pirx", "/var/lib/pirx/")
    changed = config(root, 1)
    root.write("/etc/pirx/server.json", changed)
    look_up(root, command)

    if copy:
        say("a copy, booted: the service under systemd")
        boot(root, copy)

    say("an upgrade keeps the config")
    root.apt("install", *names(root, "new"))
    expect((root.path / "etc/pirx/server.json").read_text() == changed, "the config is as it was changed")
    installed = root("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n", "*pirx*").splitlines()
    expect(len(installed) >= 6 and all(f" {version}-" in line and line.endswith(" installed") for line in installed), installed)
    look_up(root, command)

    say("removed, the config stays; purged, nothing stays")
    packages = [line.split()[0] for line in installed]
    root.apt("remove", "pirx-server")
    expect((root.path / "etc/pirx/server.json").read_text() == changed, "the config is there after a removal")
    root.apt("purge", *packages)
    left = root.named_pirx()
    expect(sorted(left) == ["/root/cities.pirx", "/var/lib/pirx", "/var/lib/pirx/cities.pirx"], f"a database is left: {left}")
    root("rm", "-r", "/root/cities.pirx", "/var/lib/pirx")
    expect(root.named_pirx() == [], "nothing is left")
    expect(root("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n").count("pirx") == 0, "dpkg knows nothing of pirx")
    root.apt("autoremove", "--purge")


def names(root, folder, prefix=""):
    return sorted(f"/packages/{folder}/{deb.name}" for deb in (root.path / "packages" / folder).glob(f"{prefix}*.deb"))


if __name__ == "__main__":
    main()
