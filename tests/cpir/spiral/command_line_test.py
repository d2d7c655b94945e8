#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program with --protocol spiral: a plain and a keyed database served and fetched over HTTP, and what is refused.

    tests/cpir/spiral/command_line_test.py PIRX
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PIRX = sys.argv[1]


def run(*words, code=0):
    done = subprocess.run([PIRX, *map(str, words)], capture_output=True, timeout=120)
    if done.returncode != code if code is not None else done.returncode == 0:
        sys.exit(f"{words}: exit code {done.returncode} instead of {code}\n{done.stdout.decode()}{done.stderr.decode()}")
    return done


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([PIRX, "serve", *map(str, words), "--protocol", "spiral", "--listen", "127.0.0.1:0"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __enter__(self):
        line = self.process.stdout.readline().decode()
        port = re.search(r"listening on port (\d+)", line)
        if not port:
            sys.exit(f"the server did not start: {line}")
        self.url = f"http://127.0.0.1:{port.group(1)}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = [{"name": f"name-{i}", "record": f"record {i} " + "x" * (i % 50)} for i in range(60)]
        (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        source = [folder / "records.jsonl", "--from", "jsonl", "--key", "name", "--value", "record"]
        run("db", "build", folder / "plain.pirx", *source)
        run("db", "build", folder / "keyed.pirx", *source, "--keyed")
        deployment = folder / "deployment.json"

        with Server(folder / "plain.pirx", "--prepared", folder / "plain.encoded") as server:
            said = run("deploy", deployment, "--database", folder / "plain.pirx", "--server", server.url).stdout.decode()
            assert "spiral, one server" in said, said
            got = run("get", deployment, 0, 17, 59, "--protocol", "spiral")
            expected = b"".join(line["record"].encode() for line in (lines[0], lines[17], lines[59]))
            assert got.stdout.replace(b"\n", b"") == expected, got.stdout
            run("get", deployment, 60, code=3)
            run("get", deployment, 1, "--protocol", "qr", code=2)
        assert (folder / "plain.encoded").stat().st_size > 4096

        text = json.loads(deployment.read_text())
        for change in ({"parameters": "zz"}, {"parameters": text["parameters"][:-2]}, {"servers": []}, {"colour": 1}):
            (folder / "broken.json").write_text(json.dumps({**text, **change}))
            run("get", folder / "broken.json", 1, code=None)

        deployment.unlink()
        with Server(folder / "keyed.pirx") as server:
            run("deploy", deployment, "--database", folder / "keyed.pirx", "--server", server.url)
            got = run("get", deployment, "--key", "name-31", "--key", "name-5")
            expected = (lines[31]["record"] + lines[5]["record"]).encode()
            assert got.stdout.replace(b"\n", b"") == expected, got.stdout
            run("get", deployment, "--key", "no such name", code=9)

        refused = run("serve", folder / "plain.pirx", "--protocol", "spiral", "--kernel", "gmp", code=2).stderr.decode()
        assert "spiral has no option 'kernel'" in refused, refused
        run("serve", folder / "plain.pirx", "--protocol", "spiral", "--set", "s9", code=2)
        insecure = run("serve", folder / "plain.pirx", "--protocol", "spiral", "--set", "c1", code=2).stderr.decode()
        assert "hides nothing" in insecure, insecure
        run("serve", folder / "plain.pirx", "--protocol", "qr", "--set", "s1", code=2)


if __name__ == "__main__":
    start = time.monotonic()
    main()
    print(f"passed in {time.monotonic() - start:.1f} s")
