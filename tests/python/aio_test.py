#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pirx.aio against real servers, a liar, and servers that never answer or are always just in time."""
import asyncio
import contextlib
import gc
import hashlib
import json
import logging
import os
import signal
import struct
import threading
import time
import unittest
import warnings
from unittest import mock

from support import RECORDS, Proxies, Served, pirx


class Silent:
    """A server on loopback that reads requests and never answers."""

    async def __aenter__(self):
        self.requests, self.ended = 0, asyncio.Event()
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = "http://127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            self.requests += 1
            await reader.read()
        self.ended.set()
        writer.close()

    async def asked(self):
        while not self.requests:
            await asyncio.sleep(0.01)


def replaced(servers, urls):
    content = json.loads(servers.deployment_file.read_text())
    for number, url in urls.items():
        content["servers"][number]["url"] = url
    return pirx.Deployment.parse(json.dumps(content))


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("pirx")]


class Asyncio(Served, unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.four = cls.start(cls.keyed, servers=4)

    async def no_threads(self):
        end = time.monotonic() + 20
        while threads() and time.monotonic() < end:
            await asyncio.sleep(0.01)
        self.assertEqual(threads(), [])

    async def test_keys_and_positions(self):
        async with pirx.aio.Client(self.by_key.deployment) as client:
            self.assertEqual(await client.get("key7"), RECORDS[7])
            self.assertIsNone(await client.get("nobody"))
            found = await asyncio.gather(*(client.get(f"key{i}") for i in range(20)))
            self.assertEqual(found, RECORDS[:20])
            self.assertEqual(await client.get_many([]), [])
        with self.assertRaisesRegex(pirx.InvalidArgument, "closed"):
            await client.get("key7")
        async with pirx.aio.Client(pirx.Client(self.by_position.deployment)) as client:
            self.assertEqual(await client.get_many(i % 200 for i in range(256)), [RECORDS[i % 200] for i in range(256)])
            with self.assertRaises(pirx.OutOfRange):
                await client.get(200)
            with self.assertRaises(TypeError):
                await client.get("7")
        with self.assertRaises(TypeError):
            pirx.aio.Client("deployment.json")

    async def test_one_server(self):
        for protocol in ("spiral", "download"):
            with pirx.serve(self.keyed, protocol) as servers:
                async with pirx.aio.Client(servers.deployment) as client:
                    self.assertEqual(await client.get("key9"), RECORDS[9])
                    self.assertIsNone(await client.get("nobody"))
                    servers.stop(0)
                    with self.assertRaises(pirx.Unavailable):
                        await client.get("key9")

    async def test_a_liar_is_named(self):
        with Proxies(self.four, {2: "lie"}) as proxies:
            async with pirx.aio.Client(pirx.Client(proxies.deployment, wait_for_all=True)) as client:
                answer = await client.look_up(["key3", "nobody"])
                self.assertEqual(answer.data, [RECORDS[3], None])
                self.assertEqual([liar.number for liar in answer.liars], [2])

    async def test_a_single_server_that_is_always_just_in_time(self):
        """It makes 8 queries of a record, and takes 0.7 of the deadline for each."""
        version = bytes(32) + struct.pack("<Q", 1)
        plan = struct.pack("<10I2Q", 8, 32, 11, 32, 46, 20, 12, 1, 24, 32, 8, 1)
        salt, mask = bytes(32), bytes(2 * 2048 * 20 // 8)
        masks_digest = hashlib.sha256(b"pirx inspire masks" + salt + bytes(8) + mask).digest()
        geometry = struct.pack("<4Q", 1, 8, 1, 0) + bytes(56)
        parameters = b"PIRX" + struct.pack("<HBB", 1, 3, 7) + version + plan + geometry + salt + masks_digest
        digest, queries = hashlib.sha256(parameters).digest(), []

        async def serve(reader, writer):
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                    body = await reader.readexactly(length)
                    queries.append(body)
                    await asyncio.sleep(2.1)
                    masks = struct.pack("<II", 0, 1) + mask
                    reply = b"PIRX" + struct.pack("<HBB", 1, 5 if body[6] == 4 else 2, 7) + digest
                    reply += masks if body[6] == 4 else bytes(2)
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                                 b"Content-Length: %d\r\n\r\n" % len(reply) + reply)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        content = {"pirx_deployment": 1, "protocol": "inspire", "parameters": parameters.hex(),
                   "servers": [{"url": "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]}]}
        deployment = pirx.Deployment.parse(json.dumps(content))
        async with pirx.aio.Client(pirx.Client(deployment, deadline=3.0)) as client:
            start = time.monotonic()
            with self.assertRaisesRegex(pirx.Unavailable, "in time"):
                await client.get(0)
            self.assertLess(time.monotonic() - start, 15)  # 8 queries and masks take 18.9 s
        self.assertLessEqual(len(queries), 4)
        server.close()

    async def test_a_server_that_never_answers(self):
        async with Silent() as silent:
            deployment = replaced(self.four, {1: silent.url})
            async with pirx.aio.Client(deployment) as client:
                start = time.monotonic()
                self.assertEqual(await client.get("key3"), RECORDS[3])
                self.assertLess(time.monotonic() - start, 9)  # of a deadline of 10: it was not waited for
            async with pirx.aio.Client(pirx.Client(deployment, wait_for_all=True, deadline=3.0)) as client:
                start = time.monotonic()
                answer = await client.look_up(["key3"])
                self.assertGreaterEqual(time.monotonic() - start, 2.9)
                self.assertEqual([server.status.name for server in answer.servers], ["OK", "SILENT", "OK", "OK"])

    async def test_no_message_waits_until_others_are_decoded(self):
        go_on, held = threading.Event(), []

        def believe(_records):
            held.append(None)
            return go_on.wait(60)

        servers = self.start(self.plain, servers=2)  # two replies prove nothing
        async with pirx.aio.Client(servers.deployment) as client:
            tasks = [asyncio.ensure_future(client.look_up([7], believe=believe)) for _ in range(100)]
            try:
                end = time.monotonic() + 60
                while len(held) < len(tasks) and time.monotonic() < end:
                    await asyncio.sleep(0.01)
                self.assertEqual(len(held), len(tasks))
                self.assertEqual((await client.look_up([8])).data, [RECORDS[8]])
            finally:
                go_on.set()
            self.assertEqual([answer.data for answer in await asyncio.gather(*tasks)], [[RECORDS[7]]] * len(tasks))

    async def test_what_believe_raises(self):
        servers = self.start(self.plain, servers=2)

        def believe(_records):
            raise ZeroDivisionError

        async with pirx.aio.Client(servers.deployment) as client:
            with self.assertRaises(ZeroDivisionError):
                await client.look_up([7], believe=believe)

    async def test_cancelled(self):
        async with Silent() as silent:
            async with pirx.aio.Client(pirx.Client(replaced(self.by_key, {0: silent.url}), wait_for_all=True)) as client:
                task = asyncio.ensure_future(client.get("key3"))
                await silent.asked()
                start = time.monotonic()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                await silent.ended.wait()
                await self.no_threads()
                self.assertLess(time.monotonic() - start, 5)  # of 10
                self.assertEqual(silent.requests, 1)

    async def test_closed_while_it_looks_up(self):
        async with Silent() as silent:
            with pirx.Client(replaced(self.by_key, {0: silent.url}), wait_for_all=True) as blocking:
                client = pirx.aio.Client(blocking)
                task = asyncio.ensure_future(client.get("key3"))
                await silent.asked()
                start = time.monotonic()
                client.close()
                with self.assertRaises(pirx.Error):
                    await task
                await self.no_threads()
                self.assertLess(time.monotonic() - start, 5)

    async def test_the_event_loop_goes_on(self):
        with pirx.serve(self.plain, "dj-tree", serve_options=["--paper-reproduction"],
                        deploy_options=["--paper-reproduction"]) as servers:
            plan = pirx.Client(servers.deployment, options={"paper_reproduction": "on"})
            async with pirx.aio.Client(plan) as client:
                turns = 0
                task = asyncio.ensure_future(client.get(7))
                while not task.done():
                    await asyncio.sleep(0.005)
                    turns += 1
                self.assertEqual(task.result(), RECORDS[7])
                self.assertGreater(turns, 1)

    async def test_no_thread_can_be_started(self):
        async with pirx.aio.Client(self.by_key.deployment) as client:
            with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
                with self.assertRaisesRegex(pirx.ResourceExhausted, "can't start"):
                    await client.get("key3")
            self.assertEqual(client._stops, set())


class Loops(Served):
    def test_a_client_outlives_its_loop(self):
        client = pirx.aio.Client(self.by_key.deployment)
        for number in (3, 4):
            self.assertEqual(asyncio.run(client.get(f"key{number}")), RECORDS[number])
        # A loop that is closed in the middle of a look-up.
        loop = asyncio.new_event_loop()
        silent = loop.run_until_complete(Silent().__aenter__())
        stuck = pirx.aio.Client(pirx.Client(replaced(self.by_key, {0: silent.url}), wait_for_all=True))
        task = loop.create_task(stuck.get("key3"))
        loop.run_until_complete(silent.asked())
        loop.close()
        with warnings.catch_warnings(), mock.patch.object(logging.getLogger("asyncio"), "disabled", True):
            warnings.simplefilter("ignore")  # asyncio itself warns of tasks that no loop ends
            stuck.close()
            with self.assertRaisesRegex(pirx.InvalidArgument, "closed"):
                asyncio.run(stuck.get("key3"))
            del task, stuck, silent
            gc.collect()
        for thread in threads():
            thread.join(20)
        self.assertEqual(threads(), [])
        self.assertEqual(asyncio.run(client.get("key5")), RECORDS[5])

    def test_in_a_child_of_fork(self):
        """A deployment makes another client there; a client that was given says so."""
        of_deployment, of_client = (pirx.aio.Client(of) for of in (self.by_key.deployment, pirx.Client(self.by_key.deployment)))
        self.assertEqual(asyncio.run(of_deployment.get("key3")), RECORDS[3])
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                signal.alarm(30)
                right = asyncio.run(of_deployment.get("key3")) == RECORDS[3]
                try:
                    asyncio.run(of_client.get("key3"))
                except pirx.InvalidArgument as error:
                    code = 0 if "fork" in str(error) and right else 2
            os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(asyncio.run(of_deployment.get("key4")), RECORDS[4])

    def test_no_loop(self):
        waiting = pirx.aio.Client(self.by_key.deployment).get("key3")
        with self.assertRaisesRegex(RuntimeError, "no running event loop"):
            waiting.send(None)

    def test_wrong_types(self):
        async def wrong():
            async with pirx.aio.Client(self.by_key.deployment) as client:
                for call in (client.get(7), client.get(None), client.get_many("key7"), client.get_many(7),
                             client.look_up(["key7"], believe=3), client.look_up([b"key7", 7])):
                    with self.assertRaises(TypeError):
                        await call
                with self.assertRaises(pirx.InvalidArgument):
                    await client.look_up([])

        asyncio.run(wrong())


if __name__ == "__main__":
    unittest.main()
