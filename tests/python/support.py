# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share. PIRX_LIBRARY and PIRX_PROGRAM say what is tested."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import pirx  # noqa: E402

RECORDS = [b"record %d \0\xff" % i + b"x" * (i % 37) for i in range(200)]


class Proxies:
    """The deployment of some servers, with faulty proxies before some of them: {number: mode}."""

    def __init__(self, servers, modes):
        self.children = []
        content = json.loads(servers.deployment_file.read_text())
        for number, mode in modes.items():
            upstream = servers.urls[number].partition("://")[2]
            child = subprocess.Popen(
                [sys.executable, str(ROOT / "examples/faulty_proxy/faulty_proxy.py"), "--upstream", upstream, "--mode", mode],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.children.append(child)
            port = re.match(r"listening on port (\d+)", child.stdout.readline()).group(1)
            content["servers"][number]["url"] = f"http://127.0.0.1:{port}"
        self.text = json.dumps(content)

    def __enter__(self):
        self.deployment = pirx.Deployment.parse(self.text)
        return self

    def __exit__(self, *_):
        self.deployment.close()
        for child in self.children:
            child.kill()
            child.wait()
            child.stdout.close()


class Served(unittest.TestCase):
    """A keyed and a plain database, each on three servers of Goldberg's protocol."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = Path(cls.folder.name)
        cls.keyed = pirx.Database.build(cls.path / "keyed", {f"key{i}": record for i, record in enumerate(RECORDS)})
        cls.plain = pirx.Database.build(cls.path / "plain", RECORDS)
        cls.by_key = cls.start(cls.keyed)
        cls.by_position = cls.start(cls.plain)

    @classmethod
    def start(cls, *words, **options):
        servers = pirx.serve(*words, **options)
        cls.addClassCleanup(servers.close)
        return servers
