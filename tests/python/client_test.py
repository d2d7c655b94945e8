#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package's clients against real servers: keys and positions, several servers and one, a liar named, what
callers do wrong, threads and forks."""
import array
import contextlib
import copy
import gc
import json
import os
import pickle
import signal
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

from support import RECORDS, Proxies, Served, pirx

try:
    import numpy
except ImportError:
    numpy = None


class Clients(Served):
    def test_a_deployment_says_what_it_is_of(self):
        deployment = pirx.Deployment.load(self.by_key.deployment_file)
        self.assertEqual((deployment.protocols, deployment.records, deployment.keyed), (("goldberg",), 200, True))
        self.assertEqual(deployment.record_bytes, max(map(len, RECORDS)))
        self.assertEqual(deployment.identity, self.keyed.info["identity"])
        self.assertEqual(deployment.epoch, 1)
        self.assertFalse(self.by_position.deployment.keyed)
        text = self.by_key.deployment_file.read_text()
        for form in (text, text.encode()):
            with pirx.Deployment.parse(form, folder=self.path) as parsed:
                self.assertEqual(parsed.identity, deployment.identity)

    def test_keys(self):
        deployment = self.by_key.deployment
        self.assertEqual(deployment.get("key7"), RECORDS[7])
        self.assertEqual(deployment.get(bytearray(b"key7")), RECORDS[7])
        self.assertIsNone(deployment.get("nobody"))
        self.assertEqual(deployment.get_many(("key3", b"nobody", "key3")), [RECORDS[3], None, RECORDS[3]])

    def test_positions(self):
        deployment = self.by_position.deployment
        self.assertEqual(deployment.get(199), RECORDS[199])
        self.assertEqual(deployment.get_many(array.array("Q", [5, 0, 5])), [RECORDS[5], RECORDS[0], RECORDS[5]])
        self.assertEqual(deployment.get_many(i % 200 for i in range(256)), [RECORDS[i % 200] for i in range(256)])
        # Two look-ups would tell servers how long it took to read what the first one found.
        with self.assertRaisesRegex(pirx.InvalidArgument, "1 to 256 records at a time, not 257"):
            deployment.get_many(range(257))
        with self.assertRaisesRegex(pirx.OutOfRange, "200 records"):
            deployment.get(200)
        with self.assertRaises(LookupError):
            deployment.get_many([200] + [1] * 199)
        for position in (-1, 2**64, 10**30):
            with self.assertRaisesRegex(pirx.OutOfRange, "200 records"):  # by the servers' word
                deployment.get(position)
        self.assertEqual(deployment.get_many([]), [])

    def test_a_liar_is_named(self):
        with pirx.serve(self.keyed, servers=4) as servers, Proxies(servers, {2: "lie"}) as proxies:
            deployment, deployment_text = proxies.deployment, proxies.text
            answer = pirx.Client(deployment, wait_for_all=True).look_up(["key3", "nobody"])
            self.assertEqual(answer.data, [RECORDS[3], None])
            self.assertEqual((answer.certainty, answer.responders, answer.proof_bound), (pirx.Certainty.PROVEN, 4, 1))
            self.assertEqual([(liar.number, liar.url) for liar in answer.liars],
                             [(2, json.loads(deployment_text)["servers"][2]["url"])])
            self.assertEqual([server.status.name for server in answer.servers], ["OK", "OK", "LIED", "OK"])
            servers.stop(3)
            answer = pirx.Client(deployment, wait_for_all=True).look_up(["key3"])
            self.assertEqual((answer.data, answer.servers[3].status), ([RECORDS[3]], pirx.ServerStatus.SILENT))
            servers.stop(1)
            servers.stop(0)
            with self.assertRaisesRegex(pirx.Undecodable, "127.0.0.1"):
                deployment.get("key3")

    def test_one_server(self):
        for database, wish in ((self.keyed, "key9"), (self.plain, 9)):
            with pirx.serve(database, "spiral") as servers:
                self.assertEqual(servers.deployment.protocols, ("spiral",))
                answer = servers.deployment.look_up([wish])
                self.assertEqual(answer.records, (pirx.Record(RECORDS[9], pirx.Certainty.PROBABLE),))
                with self.assertRaisesRegex(pirx.ResourceExhausted, "max-bytes"):
                    pirx.Client(servers.deployment, max_bytes=10).get(wish)
                client = pirx.Client(servers.deployment)
                servers.stop(0)
                with self.assertRaises(pirx.Unavailable):
                    client.get(wish)

    def test_messages_that_are_kept_count(self):
        def least(wishes):
            """The least memory with which so many positions may be asked for."""
            low, high = 1, 1 << 34
            while low < high:
                try:
                    middle = (low + high) // 2
                    pirx.Client(servers.deployment, max_memory=middle).begin(range(wishes)).close()
                    high = middle
                except pirx.ResourceExhausted:
                    low = middle + 1
            return low

        with pirx.serve(self.plain, "qr", serve_options=["--modulus", "2048"]) as servers:
            with pirx.Client(servers.deployment).begin([0]) as one:
                query = len(one.next().data)
            self.assertGreaterEqual(least(101) - least(1), 100 * query)

    def test_another_epoch(self):
        rows = dict(enumerate(RECORDS))
        target = self.path / "twice"
        texts = []
        for _ in range(2):
            with pirx.serve(pirx.Database.build(target, rows)) as servers:
                texts.append(servers.deployment_file.read_text())
                if len(texts) == 2:
                    old = json.loads(texts[0])
                    for server, url in zip(old["servers"], servers.urls):
                        server["url"] = url
                    with self.assertRaises(pirx.StaleEpoch) as caught:
                        pirx.Deployment.parse(json.dumps(old)).get("7")
        self.assertEqual(caught.exception.code, 7)

    def test_a_pinned_publisher(self):
        key, manifest = self.path / "publisher.key", self.path / "manifest"
        for words in (("key", key), ("sign", self.plain.path, "--key", key, "--name", "lists", "--out", manifest)):
            subprocess.run([os.environ["PIRX_PROGRAM"], "manifest", *words], check=True, capture_output=True)
        good = json.loads(self.by_position.deployment_file.read_text())
        good |= {"publisher": Path(f"{key}.pub").read_text().strip() + ":lists", "manifest": manifest.read_bytes().hex()}
        with pirx.Deployment.parse(json.dumps(good)) as deployment:
            self.assertEqual(deployment.get(7), RECORDS[7])
        changed = {"database": good["database"] | {"epoch": 2}}
        with self.assertRaisesRegex(pirx.DataLoss, "checksum"):
            pirx.Deployment.parse(json.dumps(good | changed))
        del good["checksum"]
        for change, error in ((changed, pirx.StaleEpoch),
                              ({"manifest": good["manifest"][:-2] + "ff"}, pirx.Unauthenticated),
                              ({"publisher": good["publisher"].replace("lists", "packages")}, pirx.Unauthenticated)):
            with self.assertRaises(error):
                pirx.Deployment.parse(json.dumps(good | change))
        del good["manifest"]
        with self.assertRaisesRegex(pirx.DataLoss, "a publisher is pinned"):
            pirx.Deployment.parse(json.dumps(good))

    def test_believe(self):
        with pirx.serve(self.plain, servers=2) as servers:
            seen = []
            client = pirx.Client(servers.deployment, believe=lambda records: bool(seen.append(records)) or True)
            self.assertEqual(client.get(4), RECORDS[4])
            self.assertIn([RECORDS[4]], seen)

            def broken(records):
                raise KeyError("mine")

            with self.assertRaisesRegex(KeyError, "mine"):
                client.look_up([4], believe=broken)
            self.assertEqual(client.get(4), RECORDS[4])

    def test_a_look_up_leaves_nothing_to_the_garbage_collector(self):
        client = self.by_position.deployment.client()
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        before = len(gc.get_objects())
        for _ in range(100):
            client.look_up([5], believe=lambda records: True)
        self.assertLess(len(gc.get_objects()), before + 50)

    def test_a_retrieval_that_the_caller_moves(self):
        client = pirx.Client(self.by_key.deployment)
        import urllib.request
        with client.begin(["key5"]) as retrieval:
            with self.assertRaisesRegex(pirx.InvalidArgument, "early"):
                retrieval.finish()
        retrieval = client.begin(["key5"])
        sent = []
        message = retrieval.next()
        while message.action == pirx.Action.SEND:
            sent.append(message)
            message = retrieval.next()
        self.assertEqual([m.server for m in sent], [0, 1, 2])
        self.assertEqual(message.action, pirx.Action.RECEIVE)
        for number, message in enumerate(sent):
            if number == 2:
                with self.assertRaises(pirx.InvalidArgument):
                    retrieval.receive(0, b"x")
                with self.assertRaises(TypeError):
                    retrieval.receive(message.id, "text")
                with self.assertRaises(pirx.DataLoss):
                    retrieval.receive(message.id, b"rubbish")
            else:
                request = urllib.request.Request(message.origin + message.path, message.data,
                                                 {"Content-Type": "application/octet-stream"})
                with urllib.request.urlopen(request) as reply:
                    retrieval.receive(message.id, reply.read())
        self.assertEqual(retrieval.next().action, pirx.Action.FINISH)
        self.assertEqual(retrieval.finish().data, [RECORDS[5]])

    def test_decoding_has_a_deadline_whoever_moves_the_messages(self):
        import urllib.request

        def slow(records):
            time.sleep(0.05)
            return records[0] == RECORDS[5]

        for deadline in (None, 0.01):
            client = pirx.Client(self.by_position.deployment, deadline=deadline)
            retrieval = client.begin([5], believe=slow)
            while (message := retrieval.next()).action == pirx.Action.SEND:
                request = urllib.request.Request(message.origin + message.path, message.data,
                                                 {"Content-Type": "application/octet-stream"})
                with urllib.request.urlopen(request) as reply:
                    data = bytearray(reply.read())
                if message.server == 2:
                    data[80:] = bytes(byte ^ 0x41 for byte in data[80:])
                retrieval.receive(message.id, bytes(data))
            if deadline is None:
                self.assertEqual(retrieval.finish().data, [RECORDS[5]])
            else:
                with self.assertRaisesRegex(pirx.Undecodable, "in time"):
                    retrieval.finish()

    def test_a_lie_about_a_key_that_is_missing_tells_nothing(self):
        """What its slot holds is no part of the answer: otherwise the look-up failed where a liar guessed the slot."""
        import urllib.request
        client = pirx.Client(self.by_key.deployment)
        for at in range(80, 200, 3):
            retrieval = client.begin(["key5", "nosuch"], believe=lambda records: records[0] == RECORDS[5])
            while (message := retrieval.next()).action == pirx.Action.SEND:
                request = urllib.request.Request(message.origin + message.path, message.data,
                                                 {"Content-Type": "application/octet-stream"})
                with urllib.request.urlopen(request) as reply:
                    data = bytearray(reply.read())
                if message.server == 2 and at < len(data):
                    data[-(at - 79)] ^= 0x41  # backwards: the slot of the second key comes last
                with contextlib.suppress(pirx.InvalidArgument):
                    retrieval.receive(message.id, bytes(data))
            answer = retrieval.finish()
            self.assertEqual(answer.data, [RECORDS[5], None], at)
        with self.assertRaisesRegex(pirx.InvalidArgument, "closed"):
            retrieval.next()

    def test_wrong_types(self):
        keyed, plain = self.by_key.deployment, self.by_position.deployment
        for wrong in (7, None, ["key7"], 1.5):
            with self.assertRaisesRegex(TypeError, "key is str or bytes"):
                keyed.get(wrong)
        for wrong in ("7", b"7", None, 7.0, True):
            with self.assertRaisesRegex(TypeError, "whole number"):
                plain.get(wrong)
        for wrong in ("key7", b"key7", 7, None):
            with self.assertRaisesRegex(TypeError, "give a list"):
                keyed.get_many(wrong)
        for call in (lambda: pirx.Deployment(), lambda: pirx.Client("deployment.json"),
                     lambda: pirx.Client(keyed, 7), lambda: pirx.Client(keyed, options={"seeded": True}),
                     lambda: pirx.Client(keyed, liars="1"), lambda: pirx.Client(keyed, deadline="1"),
                     lambda: pirx.Client(keyed, believe=3), lambda: keyed.look_up(["key7"], believe=3), lambda: pirx.Deployment.load(7.5),
                     lambda: pirx.Deployment.parse(7), lambda: pirx.Retrieval(keyed, ["key7"])):
            self.assertRaises(TypeError, call)

    def test_a_key_that_is_no_utf8(self):
        with self.assertRaises(pirx.InvalidArgument) as caught:
            self.by_key.deployment.get("secret\ud800")
        self.assertNotIn("secret", str(caught.exception))
        self.assertIsNone(caught.exception.__context__)

    def test_wrong_values(self):
        deployment = self.by_key.deployment
        for call, kind in ((lambda: pirx.Client(deployment, liars=-1), pirx.InvalidArgument),
                           (lambda: pirx.Client(deployment, rounds=9), pirx.InvalidArgument),
                           (lambda: pirx.Client(deployment, deadline=0), pirx.InvalidArgument),
                           (lambda: pirx.Client(deployment, max_bytes=2**64), pirx.InvalidArgument),
                           (lambda: pirx.Client(deployment, "chor"), pirx.InvalidArgument),
                           (lambda: pirx.Client(deployment, options={"colour": "red"}), pirx.InvalidArgument),
                           (lambda: deployment.look_up([]), pirx.InvalidArgument),
                           (lambda: deployment.look_up(["key7"] * 5000), pirx.InvalidArgument),
                           (lambda: pirx.Deployment.load(self.path / "none"), pirx.Unavailable),
                           (lambda: pirx.Deployment.load("a\0b"), pirx.InvalidArgument),
                           (lambda: pirx.Deployment.parse("{}"), pirx.DataLoss)):
            with self.assertRaises(kind) as caught:
                call()
            self.assertIsInstance(caught.exception, pirx.Error)
            self.assertGreater(len(str(caught.exception)), 10)
        self.assertTrue(issubclass(pirx.InvalidArgument, ValueError))

    def test_an_option_of_the_protocol(self):
        with pirx.Client(self.by_key.deployment, "goldberg", options={"seeded": "on"}) as client:
            self.assertEqual(client.get("key7"), RECORDS[7])

    def test_closed_objects(self):
        deployment = pirx.Deployment.load(self.by_key.deployment_file)
        client = pirx.Client(deployment)
        deployment.get("key1")
        deployment.close()
        deployment.close()
        self.assertEqual(client.get("key1"), RECORDS[1])
        for closed in (lambda: deployment.get("key1"), lambda: pirx.Client(deployment), deployment.__enter__):
            self.assertRaisesRegex(pirx.InvalidArgument, "deployment is closed", closed)
        with client:
            pass
        for closed in (lambda: client.get("key1"), lambda: client.begin(["key1"])):
            self.assertRaisesRegex(pirx.InvalidArgument, "client is closed", closed)
        for duplicate in (copy.copy, pickle.dumps):
            self.assertRaisesRegex(TypeError, "pickled or copied", duplicate, client)
        del client, deployment
        gc.collect()

    def test_threads(self):
        client = pirx.Client(self.by_key.deployment)
        wrong = []

        def look(number):
            try:
                for i in range(number, 200, 40):
                    if client.get(f"key{i}") != RECORDS[i]:
                        wrong.append(i)
                # Each thread has its own last error.
                with self.assertRaisesRegex(pirx.InvalidArgument, "colour"):
                    pirx.Client(self.by_key.deployment, options={"colour": "red"})
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=look, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_closed_while_another_thread_looks_up(self):
        with pirx.serve(self.plain) as servers, Proxies(servers, {0: "slow", 1: "slow", 2: "slow"}) as proxies:
            client = pirx.Client(proxies.deployment, deadline=2)
            outcomes, began = [], threading.Event()

            def look():
                began.set()
                try:
                    client.get(1)
                except pirx.Error as error:
                    outcomes.append(type(error))

            # One thread looks up, the others wait for it or come too late. None of them crashes.
            threads = [threading.Thread(target=look) for _ in range(4)]
            threads[0].start()
            began.wait()
            for thread in threads[1:]:
                thread.start()
            closing = [threading.Thread(target=client.close) for _ in range(2)]
            for thread in closing:
                thread.start()
            for thread in threads + closing:
                thread.join()
            self.assertEqual(len(outcomes), 4)
            self.assertLessEqual(set(outcomes), {pirx.Undecodable, pirx.InvalidArgument})
            self.assertRaisesRegex(pirx.InvalidArgument, "client is closed", client.get, 1)

    def test_a_signal_while_another_thread_looks_up(self):
        class Alarm(Exception):
            pass

        def ring(*_):
            raise Alarm

        before = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with pirx.serve(self.plain) as servers, Proxies(servers, {0: "slow", 1: "slow", 2: "slow"}) as proxies:
            client = pirx.Client(proxies.deployment, deadline=60)
            found = []
            thread = threading.Thread(target=lambda: found.append(client.get(1)))
            thread.start()
            time.sleep(0.2)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            self.assertRaises(Alarm, client.get, 2)
            thread.join()
            self.assertEqual(found, [RECORDS[1]])  # the other look-up went on

    def test_no_look_up_waits_until_another_is_decoded(self):
        """Servers would see how long that takes."""
        with pirx.serve(self.plain, servers=2) as servers:
            client = pirx.Client(servers.deployment)
            decoding, other = threading.Event(), threading.Event()

            def believe(records):
                decoding.set()
                return other.wait(60)

            def look():
                decoding.wait(60)
                client.get(5)
                other.set()

            thread = threading.Thread(target=look)
            thread.start()
            self.assertEqual(client.look_up([4], believe=believe).certainty, pirx.Certainty.PROBABLE)
            thread.join()

    def test_a_look_up_waits_for_others_no_longer_than_its_deadline(self):
        with pirx.serve(self.plain, servers=2) as several, pirx.serve(self.plain, "download") as one:
            # With several servers they do not wait for each other.
            said = self.look_ups_with_a_silent_server(several)
            self.assertFalse(any("nothing was sent" in line for line in said), said)
            # All eight, one after the other, would take eight times as long.
            said = self.look_ups_with_a_silent_server(one)
            self.assertTrue(any("took all of the deadline: nothing was sent" in line for line in said), said)

    def look_ups_with_a_silent_server(self, servers):
        """What eight at the same time end with."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            content = json.loads(servers.deployment_file.read_text())
            content["servers"][0]["url"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
            client = pirx.Client(pirx.Deployment.parse(json.dumps(content)), deadline=1)
            said = []

            def look():
                try:
                    client.get(4)
                except pirx.Error as error:
                    said.append(str(error))

            threads = [threading.Thread(target=look) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(said), len(threads))
        return said

    def test_a_look_up_within_a_look_up(self):
        with pirx.serve(self.plain, servers=2) as servers:
            client = pirx.Client(servers.deployment)
            with self.assertRaisesRegex(pirx.InvalidArgument, "use another client"):
                client.look_up([4], believe=lambda records: client.get(5) is not None)
            other = pirx.Client(servers.deployment)
            with self.assertRaisesRegex(pirx.InvalidArgument, "use another client"):
                client.look_up([4], believe=lambda records: other.look_up([4], believe=lambda more: client.get(5) is not None))
            self.assertEqual(client.get(4), RECORDS[4])
            # Closed from within, it ends the look-up that runs.
            self.assertEqual(client.look_up([4], believe=lambda records: client.close() is None).data, [RECORDS[4]])
            self.assertRaisesRegex(pirx.InvalidArgument, "client is closed", client.get, 4)

    def test_a_call_lets_other_threads_work(self):
        with pirx.serve(self.plain) as servers, Proxies(servers, {0: "slow", 1: "slow", 2: "slow"}) as proxies:
            client = pirx.Client(proxies.deployment, deadline=3)
            ended = threading.Event()

            def look():
                self.assertRaises(pirx.Undecodable, client.get, 1)
                ended.set()

            thread = threading.Thread(target=look)
            thread.start()
            turns = 0
            while not ended.wait(0.01):
                turns += 1
            thread.join()
            self.assertGreater(turns, 2)

    def test_forks(self):
        deployment = self.by_key.deployment
        client = pirx.Client(deployment)
        self.assertEqual(client.get("key1"), RECORDS[1])
        # Another thread is in a look-up over the client that the child gets.
        held, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)

        def hold():
            while not go_on.is_set():
                client.get("key1")
                held.set()

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                try:
                    client.get("key1")
                except pirx.InvalidArgument as error:
                    # The deployment makes a client of its own in the child.
                    # So says the library, which has the parent's connections.
                    client._process = os.getpid()
                    for call, wish in ((client.get, "key1"), (client.begin, ["key1"])):
                        self.assertRaisesRegex(pirx.InvalidArgument, "made before a fork", call, wish)
                    client._process = 0
                    if "fork" in str(error) and deployment.get("key2") == RECORDS[2]:
                        client.close()
                        code = 0 if held.wait(0) else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        go_on.set()
        holder.join()
        self.assertEqual(client.get("key1"), RECORDS[1])

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_numpy(self):
        table = numpy.arange(600, dtype="<u4").reshape(100, 6)
        database = pirx.Database.build(self.path / "table", table)
        with pirx.serve(database, "download") as servers:
            get = servers.deployment.get_many
            numpy.testing.assert_array_equal(get(numpy.array([7, 0]), dtype="<u4"), table[[7, 0]])
            self.assertEqual(get([7], dtype=numpy.uint8).shape, (1, 24))
            pair = numpy.dtype([("a", "<u8"), ("b", "<u4", 4)])
            self.assertEqual(get([7, 8], dtype=pair).shape, (2,))
            for wrong in ("<u8,<u8", object):
                self.assertRaises(pirx.InvalidArgument, get, [7], dtype=wrong)
        self.assertRaisesRegex(pirx.InvalidArgument, "several lengths",
                               self.by_position.deployment.get_many, [0, 1], dtype="u1")
        self.assertRaisesRegex(pirx.InvalidArgument, "no record", self.by_key.deployment.get_many, ["no"], dtype="u1")

    @unittest.skipIf(numpy is not None, "numpy is installed")
    def test_without_numpy(self):
        self.assertRaisesRegex(pirx.InvalidArgument, "not installed",
                               self.by_position.deployment.get_many, [0], dtype="u1")


if __name__ == "__main__":
    unittest.main()
