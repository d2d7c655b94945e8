#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads packaging/docker/Dockerfile and compose.yaml, without Docker: what they promise, and that they go with this tree.

    containers_test.py PIRX
"""
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging/docker"
PIRX = ""


def instructions():
    """[(FROM ..., [(word, rest), ...]), ...], a stage each."""
    text = re.sub(r"^#.*\n", "", (FOLDER / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    stages = []
    for line in filter(None, map(str.strip, text.splitlines())):
        word, rest = line.split(None, 1)
        if word == "FROM":
            stages.append((rest, []))
        else:
            stages[-1][1].append((word, rest))
    return stages


def installed(stage):
    lists = re.findall(r"apt-get install -y --no-install-recommends ([^&]+)&& rm -rf /var/lib/apt/lists/\*",
                       " ".join(rest for word, rest in stage if word == "RUN"))
    return set(" ".join(lists).split())


class Containers(unittest.TestCase):
    def test_the_image(self):
        (base, build), (slim, final) = instructions()
        self.assertEqual((base, slim), ("debian:12 AS build", "debian:12-slim"))
        words = dict(final)
        self.assertRegex(words["USER"], r"^[1-9]\d*$")  # a number, so that the host can tell that it is not root
        self.assertEqual(json.loads(words["ENTRYPOINT"]), ["/usr/local/bin/pirx"])
        self.assertIn('"$PIRX_HEALTH_URL"', words["HEALTHCHECK"])
        self.assertEqual(words["ENV"], "PIRX_HEALTH_URL=http://127.0.0.1:8100/readyz")
        self.assertNotIn("ADD", words)
        for word, rest in build + final:
            if word == "RUN":
                self.assertEqual(rest.count("apt-get install"), rest.count("rm -rf /var/lib/apt/lists"))
        # Only options that there are, and packages that scripts/setup knows.
        options = (ROOT / "CMakeLists.txt").read_text()
        for option in re.findall(r"-D(PIRX_\w+)=", dict(build)["RUN"]):
            self.assertRegex(options, rf"(option|set)\({option} ")
        setup = (ROOT / "scripts/setup").read_text().split()
        self.assertEqual(installed(build) - set(setup), set())
        for name in re.findall(r"[\w./-]+(?= )", " ".join(rest for word, rest in final if word == "COPY")):
            if not name.startswith(("/", "-", "from", "build")):
                self.assertTrue((ROOT / name).exists(), name)

    def test_the_image_has_the_libraries(self):
        """As far as this build of the program tells: it was linked by the same commands."""
        wanted = re.findall(r"NEEDED +(\S+)", subprocess.run(["objdump", "-p", PIRX], check=True, capture_output=True,
                                                             text=True).stdout)
        self.assertGreater(len(wanted), 5)
        packages = set()
        for library in wanted:
            owner = subprocess.run(["dpkg", "-S", f"*-linux-gnu/{library}"], capture_output=True, text=True)
            if owner.returncode != 0:
                self.skipTest(f"dpkg does not know {library}")
            packages.add(owner.stdout.split(":")[0])
        always = {"libc6", "libstdc++6", "libgcc-s1"}  # apt needs them
        self.assertEqual(packages - always - installed(instructions()[1][1]), set())

    def test_three_servers(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())
        services = compose["services"]
        self.assertEqual(len(services), 3)
        seen = set()
        for service in services.values():
            self.assertTrue(service["read_only"])
            self.assertEqual((service["cap_drop"], service["security_opt"]), (["ALL"], ["no-new-privileges:true"]))
            self.assertTrue((FOLDER / service["build"]["context"] / service["build"]["dockerfile"]).exists())
            (port,), (volume,) = service["ports"], service["volumes"]
            self.assertRegex(port, r"^127\.0\.0\.1:\d+:8100$")  # plaintext: this machine alone
            self.assertTrue(volume.endswith(":/data:ro"))  # a folder: new epochs are other files
            words = service["command"].split()
            coordinate = words[words.index("--coordinate") + 1]
            self.assertFalse({coordinate, port, volume} & seen, "two servers share something")
            seen |= {coordinate, port, volume}
            # The command line is right: what is missing is the database.
            done = subprocess.run([PIRX, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("/data/database.pirx", done.stderr)


if __name__ == "__main__":
    PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
