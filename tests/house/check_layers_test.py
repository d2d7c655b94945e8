#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a violation of every rule of scripts/check_layers.py in a small clean tree, one at a time, and checks that it is
reported at its file and line, by its rule, and alone."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"

# A legal tree: every module, every kind of file that may do what others may not.
CLEAN = {
    "include/pirx/base/bytes.h": "#include <cstdint>\n",
    "include/pirx/gf2e/gf2.h": '#include "pirx/base/bytes.h"\n',
    "include/pirx/fp/w160.h": '#include <pirx/base/bytes.h>\n',
    "include/pirx/base/matrix.h": '#include "pirx/base/bytes.h"\n',
    "include/pirx/strassen/engine.h": '#include "pirx/base/matrix.h"\n',
    "include/pirx/database/database.h": '#include "pirx/base/matrix.h"\n',
    "include/pirx/batchcodes/ramp.h": '#include "pirx/fp/w160.h"\n',
    "include/pirx/protocol.h": '#include "pirx/base/bytes.h"\n',
    "include/pirx/itpir/common.h": '#include "pirx/base/bytes.h"\n',
    "include/pirx/itpir/goldberg/client.h": '#include "pirx/itpir/common.h"\n',
    "include/pirx/itpir/goldberg/server.h": '#include "pirx/itpir/common.h"\n#include "pirx/protocol.h"\n',
    "include/pirx/http/http_client.h": '#include "pirx/base/bytes.h"\n#include "pirx/protocol.h"\n',
    "src/base/bytes.cc": '#include "pirx/base/bytes.h"\n#include <cpuid.h>\n',
    "gf2e/kernels.h": "#include <cstdint>\n",
    "gf2e/kernels/avx2.cc": '#include <immintrin.h>\n#include "gf2e/kernels.h"\n',
    "gf2e/gf2.cc": '#include "kernels.h"\n#include "pirx/gf2e/gf2.h"\n',
    "strassen/engine_impl.h": '#include "gf2e/kernels.h"\n#include "pirx/strassen/engine.h"\n',
    "include/pirx/database/builder.h": "",
    "src/database/database.cc": '#include "pirx/database/builder.h"\n#include "pirx/database/database.h"\n',
    "batchcodes/ramp.cc": '#include "pirx/batchcodes/ramp.h"\n',
    "src/protocol/option.cc": '#include "pirx/protocol.h"\n',
    "service/table/protocols.cc": '#include "pirx/protocol.h"\n',
    "itpir/goldberg/decoder.h": '#include "pirx/itpir/common.h"\n',
    "itpir/goldberg/client_impl.h": '#include "decoder.h"\n#include "pirx/itpir/goldberg/client.h"\n',
    "itpir/goldberg/client.cc": '#include "itpir/goldberg/client_impl.h"\n',
    "itpir/goldberg/server.cc": '#include "pirx/database/database.h"\n#include "pirx/itpir/goldberg/server.h"\n#include "pirx/strassen/engine.h"\n',
    "itpir/messages.h": '#include "pirx/itpir/common.h"\n',
    "itpir/chor/common.h": '#include "itpir/messages.h"\n',
    "include/pirx/itpir/chor/client.h": '#include "pirx/itpir/common.h"\n',
    "itpir/chor/client.cc": '#include "common.h"\n#include "pirx/itpir/chor/client.h"\n',
    "include/pirx/cpir/qr/client.h": "",
    "cpir/dj/client.cc": '#include "pirx/batchcodes/ramp.h"\n',
    "cpir/dj/server.cc": '#include "pirx/strassen/engine.h"\n',
    "service/shards/world.cc": '#include <mpi.h>\n#include "pirx/protocol.h"\n',
    "service/http/server.cc": '#include <boost/asio.hpp>\n#include <curl/curl.h>\n#include <sys/socket.h>\n',
    "tools/pirx/main.cc": '#include "pirx/protocol.h"\n#include "pirx/http/http_client.h"\n#include "options.h"\n',
    "tools/pirx/options.h": "",
    "examples/embed/main.cc": "#include <pirx/itpir/goldberg/client.h>\n",
    "bench/engine/engine_bench.cc": '#include <benchmark/benchmark.h>\n#include "pirx/strassen/engine.h"\n',
    "tests/itpir/client_test.cc": '#include <gtest/gtest.h>\n#include <gmock/gmock.h>\n#include <sys/socket.h>\n'
                                  '#include "itpir/goldberg/client_impl.h"\n#include "itpir/goldberg/server.cc"\n'
                                  '#include "tools/pirx/options.h"\n#include "support/tiny.h"\n',
    "tests/support/tiny.h": "",
}

# rule, file, the include that breaks it
VIOLATIONS = [
    # Upwards, sideways, and beyond what the table allows.
    ("rank", "include/pirx/base/bytes.h", '"pirx/gf2e/gf2.h"'),
    ("rank", "src/base/bytes.cc", "<pirx/protocol.h>"),
    ("rank", "include/pirx/base/matrix.h", '"pirx/gf2e/gf2.h"'),
    ("rank", "gf2e/gf2.cc", '"pirx/fp/w160.h"'),
    ("rank", "include/pirx/fp/w160.h", '"pirx/gf2e/gf2.h"'),
    ("rank", "include/pirx/database/database.h", '"pirx/strassen/engine.h"'),
    ("rank", "strassen/engine_impl.h", '"pirx/protocol.h"'),
    ("rank", "src/database/database.cc", '"pirx/strassen/engine.h"'),
    ("rank", "src/database/database.cc", '"pirx/batchcodes/ramp.h"'),
    ("rank", "src/database/database.cc", '"pirx/itpir/common.h"'),
    ("rank", "batchcodes/ramp.cc", '"pirx/itpir/common.h"'),
    ("rank", "include/pirx/protocol.h", '"pirx/strassen/engine.h"'),
    ("rank", "service/table/protocols.cc", '"pirx/itpir/goldberg/server.h"'),
    ("rank", "src/database/database.cc", '"pirx/protocol.h"'),
    ("rank", "include/pirx/itpir/common.h", '"pirx/http/http_client.h"'),
    ("rank", "itpir/goldberg/decoder.h", '"cpir/dj/client.cc"'),
    ("rank", "cpir/dj/server.cc", '"pirx/itpir/common.h"'),
    ("rank", "cpir/dj/server.cc", '"../../service/http/server.cc"'),
    ("rank", "service/http/server.cc", '"pirx/itpir/goldberg/server.h"'),
    ("rank", "service/shards/world.cc", '"pirx/http/http_client.h"'),
    ("rank", "include/pirx/http/http_client.h", '"pirx/gf2e/gf2.h"'),
    ("rank", "service/http/server.cc", '"tools/pirx/options.h"'),
    ("rank", "itpir/goldberg/client.cc", '"tests/support/tiny.h"'),
    ("rank", "tools/pirx/main.cc", '"tests/support/tiny.h"'),
    ("rank", "bench/engine/engine_bench.cc", '"tools/pirx/options.h"'),
    ("public-private", "include/pirx/itpir/goldberg/client.h", '"itpir/goldberg/decoder.h"'),
    ("private", "tools/pirx/main.cc", '"itpir/goldberg/client_impl.h"'),
    ("private", "examples/embed/main.cc", '"itpir/goldberg/decoder.h"'),
    ("private", "bench/engine/engine_bench.cc", '"strassen/engine_impl.h"'),
    # Halves of a protocol.
    ("client-server", "itpir/goldberg/client.cc", '"pirx/itpir/goldberg/server.h"'),
    ("client-server", "itpir/goldberg/client_impl.h", '"server.cc"'),
    ("client-server", "itpir/goldberg/server.cc", '"pirx/itpir/goldberg/client.h"'),
    ("client-server", "itpir/goldberg/server.cc", '"client_impl.h"'),
    ("client-server", "cpir/dj/client.cc", '"server.cc"'),
    ("client-server", "cpir/dj/server.cc", '"cpir/dj/client.cc"'),
    # Foreign headers.
    ("intrinsics", "gf2e/gf2.cc", "<immintrin.h>"),
    ("intrinsics", "src/base/bytes.cc", "<x86intrin.h>"),
    ("intrinsics", "tests/itpir/client_test.cc", "<arm_neon.h>"),
    ("test-only", "itpir/goldberg/client.cc", "<gtest/gtest.h>"),
    ("test-only", "bench/engine/engine_bench.cc", "<gmock/gmock.h>"),
    ("test-only", "include/pirx/base/bytes.h", '<gtest/gtest_prod.h>'),
    ("test-only", "tools/pirx/main.cc", "<gmock/gmock.h>"),
    ("test-only", "strassen/engine_impl.h", "<gtest/gtest.h>"),
    ("bench-only", "tests/itpir/client_test.cc", "<benchmark/benchmark.h>"),
    ("mpi", "tools/pirx/main.cc", "<mpi.h>"),
    ("mpi", "itpir/goldberg/client.cc", "<mpi.h>"),
    ("sockets", "itpir/goldberg/client.cc", "<sys/socket.h>"),
    ("sockets", "src/base/bytes.cc", "<netinet/in.h>"),
    ("sockets", "src/base/bytes.cc", "<arpa/inet.h>"),
    ("sockets", "src/protocol/option.cc", "<netdb.h>"),
    ("sockets", "include/pirx/http/http_client.h", "<boost/asio/ip/tcp.hpp>"),
    ("sockets", "tools/pirx/main.cc", "<boost/beast/http.hpp>"),
    ("sockets", "tools/pirx/main.cc", "<curl/curl.h>"),
    ("sockets", "bench/engine/engine_bench.cc", "<poll.h>"),
    ("names", "tools/pirx/main.cc", '"pirx/itpir/goldberg/client.h"'),
    ("room", "itpir/goldberg/client.cc", '"itpir/chor/common.h"'),
    ("room", "itpir/chor/client.cc", '"itpir/goldberg/decoder.h"'),
    ("room", "itpir/chor/client.cc", '"pirx/itpir/goldberg/client.h"'),
    ("room", "itpir/messages.h", '"itpir/goldberg/decoder.h"'),
    ("room", "include/pirx/itpir/goldberg/client.h", '"pirx/itpir/chor/client.h"'),
    ("room", "cpir/dj/client.cc", '"pirx/cpir/qr/client.h"'),
    ("unresolved", "src/base/bytes.cc", '"nothing.h"'),
    ("unresolved", "src/base/bytes.cc", "<pirx/base/nothing.h>"),
    # Spelling does not hide one.
    ("sockets", "src/base/bytes.cc", " <sys/un.h>  // comment"),
    ("rank", "src/base/bytes.cc", '"../../gf2e/kernels.h"'),
]


def check(files):
    """(exit status, lines of output) of the checker over a tree of these files."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([sys.executable, str(CHECKER), "--root", root], stdout=subprocess.PIPE, text=True)
        return result.returncode, result.stdout.splitlines()


class CheckLayersTest(unittest.TestCase):
    def test_clean_tree_passes(self):
        status, lines = check(CLEAN)
        self.assertEqual((status, lines), (0, [f"{len(CLEAN)} files, 0 violations"]))

    def test_every_planted_violation_is_caught(self):
        for rule, name, include in VIOLATIONS:
            with self.subTest(rule=rule, file=name, include=include):
                line = CLEAN[name].count("\n") + 2
                files = dict(CLEAN, **{name: CLEAN[name] + f"int x;\n#include {include}\n"})
                status, lines = check(files)
                self.assertEqual(status, 1, lines)
                # Once, under its rule; other lines may only be about files that reach this one.
                here = [other for other in lines if other.startswith(f"{name}:{line}: ")]
                self.assertEqual(len(here), 1, lines)
                self.assertIn(f" [{rule}] ", here[0])

    def test_build_folders_are_skipped(self):
        status, lines = check(dict(CLEAN, **{"build/release/x.cc": '#include "nothing.h"\n', "build-x/y.h": ""}))
        self.assertEqual((status, lines), (0, [f"{len(CLEAN)} files, 0 violations"]))

    def test_common_including_a_half_is_caught(self):
        files = dict(CLEAN, **{"itpir/goldberg/common.cc": '#include "pirx/itpir/goldberg/client.h"\n'})
        status, lines = check(files)
        self.assertEqual(status, 1)
        self.assertTrue(lines[0].startswith("itpir/goldberg/common.cc:1: [client-server] "), lines)

    def test_reaching_the_other_half_through_a_third_file_is_caught(self):
        files = dict(CLEAN)
        files["itpir/goldberg/decoder.h"] += '#include "pirx/itpir/goldberg/server.h"\n'
        status, lines = check(files)
        self.assertEqual(status, 1)
        self.assertTrue(any(line.startswith("itpir/goldberg/client_impl.h:1: [client-server] ") for line in lines), lines)

    def test_naming_a_protocol_is_caught(self):
        for name, line in (
            ("tools/pirx/main.cc", 'if (name == "spiral") return;'),
            ("service/client/fetch.cc", "switch (id) { case ProtocolId::kChor: break; }"),
            ("src/database/database.cc", "void f(pirx::itpir::Params);"),
            ("service/client/CMakeLists.txt", "pirx_library(client PUBLIC_DEPS pirx::cpir)"),
        ):
            with self.subTest(file=name):
                status, lines = check(dict(CLEAN, **{name: line + "\n"}))
                self.assertEqual(status, 1)
                self.assertIn(f"{name}:1: [names] ", lines[0])
        # Words about one are no code.
        status, lines = check(dict(CLEAN, **{"service/client/fetch.cc": '// as "goldberg" does\n'}))
        self.assertEqual(status, 0, lines)

    def test_unknown_folder_is_caught(self):
        for name in ("src/utils/x.h", "include/pirx/tools/x.h", "include/pirx/stray.h", "x.cc"):
            with self.subTest(file=name):
                status, lines = check(dict(CLEAN, **{name: ""}))
                self.assertEqual(status, 1)
                self.assertTrue(lines[0].startswith(f"{name}:1: [unknown] "), lines)

    def test_every_rule_has_a_planted_violation(self):
        rules = {line.split()[0] for line in CHECKER.read_text().split("Rules:\n")[1].split('"""')[0].splitlines() if line}
        planted = {rule for rule, _, _ in VIOLATIONS} | {"unknown"}
        self.assertEqual(rules, planted)


if __name__ == "__main__":
    unittest.main()
