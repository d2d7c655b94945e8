#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pirx.aio against real servers, a liar, and servers that are hostile: they never answer, answer too much, refuse, send no
HTTP. The look-up ends when the retrieval has what it needs."""
import asyncio
import concurrent.futures
import contextlib
import functools
import gc
import hashlib
import json
import logging
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
import unittest
import warnings
from unittest import mock

from support import RECORDS, Proxies, Served, pirx


class Hostile:
    """A server on loopback that reads a request and then does what `answer` says: bytes to send, or None to wait."""

    def __init__(self, answer, tls=None, host="127.0.0.1"):
        self.answer, self.tls, self.host, self.requests, self.sent = answer, tls, host, [], 0

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, self.host, 0, ssl=self.tls)
        self.url = "http%s://127.0.0.1:%d" % ("s" * bool(self.tls), self.server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            self.requests.append((head, await reader.readexactly(length)))
            if self.answer is None:
                await reader.read()
            else:
                for part in self.answer:
                    writer.write(part)
                    await writer.drain()
                    self.sent += len(part)
        writer.close()


def replaced(servers, urls):
    content = json.loads(servers.deployment_file.read_text())
    for number, url in urls.items():
        content["servers"][number]["url"] = url
        if url.startswith("https:"):
            content["servers"][number]["ca_file"] = "cert.pem"
    return pirx.Deployment.parse(json.dumps(content), folder=CERTIFICATES[-1])


CERTIFICATES = ["."]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"


def endless():
    yield OK + b"\r\n"
    while True:
        yield bytes(1 << 16)


class Asyncio(Served, unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.four = cls.start(cls.keyed, servers=4)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", "/CN=pirx", "-addext", "subjectAltName=IP:127.0.0.1,IP:127.0.0.3", "-keyout", "key.pem",
                        "-out", "cert.pem"], check=True, capture_output=True, cwd=cls.path)
        CERTIFICATES.append(cls.path)
        cls.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.tls.load_cert_chain(cls.path / "cert.pem", cls.path / "key.pem")

    async def test_keys_and_positions(self):
        async with pirx.aio.Client(self.by_key.deployment) as client:
            self.assertEqual(await client.get("key7"), RECORDS[7])
            self.assertIsNone(await client.get("nobody"))
            found = await asyncio.gather(*(client.get(f"key{i}") for i in range(20)))
            self.assertEqual(found, RECORDS[:20])
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

    async def status(self, answer, *, deadline=20.0, tls=None):
        """What is said of a server that answers so, and what it was asked."""
        async with Hostile(answer, tls) as hostile:
            deployment = replaced(self.four, {1: hostile.url})
            async with pirx.aio.Client(pirx.Client(deployment, wait_for_all=True, deadline=deadline)) as client:
                found = await client.look_up(["key3"])
            self.assertEqual(found.data, [RECORDS[3]])
            self.assertEqual([s.status.name for s in found.servers if s.number != 1], ["OK"] * 3)
            self.assertEqual(len(hostile.requests), 1)
            return found.servers[1].status.name, hostile

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
                    writer.write(OK + b"Content-Length: %d\r\n\r\n" % len(reply) + reply)
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
        self.assertLessEqual(len(queries), 3)
        server.close()

    async def test_a_server_that_never_answers(self):
        async with Hostile(None) as hostile:
            deployment = replaced(self.four, {1: hostile.url})
            async with pirx.aio.Client(deployment) as client:
                start = time.monotonic()
                self.assertEqual(await client.get("key3"), RECORDS[3])
                self.assertLess(time.monotonic() - start, 9)  # of a deadline of 10: it was not waited for
                self.assertEqual(client._unwaited, set())  # and its connection has ended
            while not hostile.requests:
                await asyncio.sleep(0.01)
            self.assertEqual(len(hostile.requests), 1)
        # Waited for to the deadline.
        start = time.monotonic()
        self.assertEqual((await self.status(None, deadline=3.0))[0], "SILENT")
        self.assertGreaterEqual(time.monotonic() - start, 2.9)

    async def test_a_server_that_reads_nothing(self):
        """With enough replies, a request that its server does not take gets a second and not the deadline."""
        write = pirx.aio._Connection.write
        stuck = []

        async def write_or_wait(connection, data):
            if f":{connection._socket.getpeername()[1]}" in hostile.url:
                stuck.append(connection)
                await asyncio.sleep(60)
            await write(connection, data)

        async with Hostile(None) as hostile:
            with mock.patch.object(pirx.aio._Connection, "write", write_or_wait):
                async with pirx.aio.Client(replaced(self.four, {1: hostile.url})) as client:
                    start = time.monotonic()
                    self.assertEqual(await client.get("key3"), RECORDS[3])
                    self.assertLess(time.monotonic() - start, 8)  # of a deadline of 10
                    self.assertEqual(client._unwaited, set())
            self.assertEqual(len(stuck), 1)

    async def test_a_name_server_that_does_not_answer(self):
        """Each look-up ends in time, the event loop's own threads stay free, and one thread waits for the name."""
        resolve, go_on, asked = socket.getaddrinfo, threading.Event(), []
        self.addCleanup(go_on.set)

        def resolve_or_wait(host, *words, **named):
            if host == "silent.invalid" and not named.get("flags"):
                asked.append(host)
                go_on.wait(60)
                host = "127.0.0.1"
            return resolve(host, *words, **named)

        asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
        silent = replaced(self.four, {1: "https://silent.invalid:7"})
        with mock.patch.object(socket, "getaddrinfo", resolve_or_wait):
            async with pirx.aio.Client(pirx.Client(silent, deadline=20.0)) as client:
                for _ in range(2):
                    start = time.monotonic()
                    found = await asyncio.gather(*(client.get(f"key{i}") for i in range(8)))
                    self.assertEqual(found, RECORDS[:8])
                    self.assertLess(time.monotonic() - start, 18)
                await asyncio.wait_for(asyncio.to_thread(int), 10)
                self.assertEqual(len(asked), 1)
                # Who comes while the name is resolved gets what is found. Then it is resolved anew.
                late = [asyncio.ensure_future(pirx.aio._addresses("silent.invalid", 7)) for _ in range(2)]
                await asyncio.sleep(0)
                go_on.set()
                self.assertEqual([found[0][4] for found in await asyncio.gather(*late)], [("127.0.0.1", 7)] * 2)
                self.assertEqual(len(asked), 1)
                await pirx.aio._addresses("silent.invalid", 7)
                self.assertEqual(len(asked), 2)
        with self.assertRaises(socket.gaierror):
            await pirx.aio._addresses("nobody.invalid", 7)

    async def test_no_message_waits_until_others_are_decoded(self):
        """As many look-ups are held while they are decoded as there can be threads, and more."""
        go_on, held, written = threading.Event(), [], []
        write = pirx.aio._Connection.write

        def believe(_records):
            held.append(None)
            return go_on.wait(60)

        async def noted(connection, data):
            written.append(None)
            return await write(connection, data)

        servers = self.start(self.plain, servers=2)  # two replies prove nothing
        async with pirx.aio.Client(servers.deployment) as client:
            tasks = [asyncio.ensure_future(client.look_up([7], believe=believe)) for _ in range(40)]
            end = time.monotonic() + 20
            try:
                while not held and time.monotonic() < end:
                    await asyncio.sleep(0.01)
                self.assertTrue(held)
                await asyncio.sleep(0.5)  # all of them
                with mock.patch.object(pirx.aio._Connection, "write", noted):
                    tasks.append(asyncio.ensure_future(client.look_up([8])))
                    end = time.monotonic() + 20
                    while not written and time.monotonic() < end:
                        await asyncio.sleep(0.01)
                self.assertTrue(written)
            finally:
                go_on.set()
            self.assertEqual([answer.data for answer in await asyncio.gather(*tasks)], [[RECORDS[7]]] * 40 + [[RECORDS[8]]])

    async def test_close_ends_the_threads(self):
        def threads():
            return [thread for thread in threading.enumerate() if thread.name.startswith("pirx")]

        for under_way in (False, True):
            async with Hostile(None) as hostile:
                client = pirx.aio.Client(pirx.Client(replaced(self.four, {1: hostile.url}), wait_for_all=True))
                task = asyncio.ensure_future(client.get("key3"))
                while not hostile.requests:
                    await asyncio.sleep(0.01)
                self.assertTrue(threads())
                if not under_way:
                    task.cancel()
                    await asyncio.wait([task])
                client.close()
                if under_way:  # What has been asked for is an answer all the same.
                    self.assertIn(await task, RECORDS)
                end = time.monotonic() + 20
                while threads() and time.monotonic() < end:
                    await asyncio.sleep(0.01)
                self.assertEqual(threads(), [])

    async def test_a_server_that_answers_too_much(self):
        status, hostile = await self.status(endless())
        self.assertEqual(status, "MALFORMED")
        self.assertLess(hostile.sent, 32 << 20)
        for answer in (OK + b"Content-Length: 99999999999\r\n\r\n", OK + b"X: " + b"x" * 300000,
                       OK + b"Content-Length: -1\r\n\r\n", OK + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
                       OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"SSH-2.0-OpenSSH\r\n\r\n",
                       b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n\r\n", b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n",
                       b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\nx",
                       b"HTTP/1.1 100 Continue\r\n\r\n" * 20, OK + b"Content-Length: 3\r\n\r\nabc"):
            self.assertEqual((await self.status([answer]))[0], "MALFORMED", answer[:100])
        self.assertEqual((await self.status([OK + b"Content-Length: 20\r\n\r\nabc"]))[0], "SILENT")

    async def test_hostile_servers_over_tls(self):
        for answer, wanted in (([b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"], "MALFORMED"),
                               (endless(), "MALFORMED"), ([OK + b"Content-Length: 3\r\n\r\nabc"], "MALFORMED"),
                               ([OK + b"Content-Length: 20\r\n\r\nabc"], "SILENT"), ([b""], "SILENT")):
            status, hostile = await self.status(answer, tls=self.tls)
            self.assertEqual(status, wanted)
            self.assertLess(hostile.sent, 32 << 20)

    async def test_every_byte_is_with_the_system_when_it_is_written(self):
        context = ssl.create_default_context(cafile=self.path / "cert.pem")
        message = random.randbytes(16 << 20)  # more than the system's buffers take
        for secure in (False, True):
            listener = socket.create_server(("127.0.0.1", 0))
            go_on, received = threading.Event(), []

            def take():
                peer, _ = listener.accept()
                with self.tls.wrap_socket(peer, server_side=True) if secure else peer as accepted:
                    go_on.wait(60)
                    while part := accepted.recv(1 << 20):
                        received.append(part)

            server = threading.Thread(target=take)
            server.start()
            connection = pirx.aio._Connection()
            await connection.open("127.0.0.1", listener.getsockname()[1])
            if secure:
                work = functools.partial(asyncio.get_running_loop().run_in_executor, None)
                await connection.start_tls(context, "127.0.0.1", work)
            writing = asyncio.ensure_future(connection.write(message))
            done, _ = await asyncio.wait([writing], timeout=0.5)
            self.assertFalse(done)  # the server reads nothing, so all cannot have been written
            go_on.set()
            await writing
            connection._socket.shutdown(socket.SHUT_WR)
            await asyncio.to_thread(server.join)
            connection.close()
            listener.close()
            self.assertTrue(b"".join(received) == message)

    async def test_parameters_of_the_type(self):
        reader = asyncio.StreamReader()
        reader.feed_data(OK.replace(b"stream", b"Stream ; charset=x") + b"Content-Length: 3\r\n\r\nabc")
        self.assertEqual(await pirx.aio._read_answer(reader, 3), b"abc")

    async def test_a_reply_in_chunks(self):
        """As a proxy may send it."""
        async def read(answer, most=3):
            reader = asyncio.StreamReader()
            reader.feed_data(answer)
            reader.feed_eof()
            return await pirx.aio._read_answer(reader, most)

        head = OK + b"Transfer-Encoding: Chunked\r\n\r\n"
        self.assertEqual(await read(head + b"1;x=y\r\na\r\n02\r\nbc\r\n0\r\nX: y\r\n\r\n"), b"abc")
        self.assertEqual(await read(head + b"0\r\n\r\n"), b"")
        for wrong in (head + b"4\r\nabcd\r\n0\r\n\r\n", head + b"2\r\nab\r\n2\r\ncd\r\n", head + b"f" * 16 + b"\r\nabcde",
                      head + b"f" * 17 + b"\r\nab", head + b"0x1\r\na\r\n0\r\n", head + b"-1\r\na\r\n0\r\n", head + b"\r\n",
                      head + b"1\r\nab\r\n0\r\n", OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
                      OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
                      OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"):
            with self.assertRaises(pirx.DataLoss, msg=wrong):
                await read(wrong)
        for cut in (head, head + b"2\r\na", head + b"1\r\na\r\n"):
            with self.assertRaises(asyncio.IncompleteReadError, msg=cut):
                await read(cut)
        with self.assertRaisesRegex(pirx.ResourceExhausted, "so busy"):
            await read(head.replace(b"200 OK", b"429 No\r\nPirx-Error: ResourceExhausted") + b"2c\r\n"
                       b'{"error":{"message":"so busy"}}             \r\n0\r\n\r\n')

    async def test_a_server_that_refuses(self):
        body = b'{"error":{"code":"ResourceExhausted","message":"so busy"}}'
        head = b"HTTP/1.1 429 Too Many Requests\r\nPirx-Error: %s\r\nContent-Length: %d\r\n\r\n"
        for name, status in ((b"ResourceExhausted", "REFUSED"), (b"StaleEpoch", "STALE"), (b"Nonsense", "REFUSED")):
            self.assertEqual((await self.status([head % (name, len(body)) + body]))[0], status)
        async with Hostile([head % (b"ResourceExhausted", len(body)) + body]) as hostile:
            deployment = replaced(self.by_key, {1: hostile.url, 2: "http://127.0.0.1:1"})
            async with pirx.aio.Client(deployment) as client:
                with self.assertRaisesRegex(pirx.Undecodable, "so busy"):
                    await client.get("key3")

    async def test_two_servers_at_one_place(self):
        async with Hostile([OK + b"Content-Length: 3\r\n\r\nabc"]) as hostile:
            deployment = replaced(self.four, {0: hostile.url, 1: hostile.url.replace("127.0.0.1", "localhost")})
            async with pirx.aio.Client(pirx.Client(deployment, wait_for_all=True)) as client:
                answer = await client.look_up(["key3"])
        self.assertEqual(answer.data, [RECORDS[3]])
        self.assertEqual(len(hostile.requests), 1)  # whichever came second sent nothing
        self.assertEqual(sorted(server.status.name for server in answer.servers[:2]), ["MALFORMED", "REFUSED"])

    async def test_two_servers_at_one_place_by_tls(self):
        opened = pirx.aio._Connection.open

        async def open_late(connection, host, port):
            if host == "127.0.0.1":
                await asyncio.sleep(0.3)
            return await opened(connection, host, port)

        # A name that is not the server's takes nothing from it; of two names that are, one is asked.
        for host, wanted in (("127.0.0.2", ["REFUSED", "MALFORMED"]), ("127.0.0.3", ["MALFORMED", "REFUSED"])):
            async with Hostile([OK + b"Content-Length: 3\r\n\r\nabc"], self.tls, "0.0.0.0") as hostile:
                deployment = replaced(self.four, {0: hostile.url.replace("127.0.0.1", host), 1: hostile.url})
                async with pirx.aio.Client(pirx.Client(deployment, wait_for_all=True)) as client:
                    with mock.patch.object(pirx.aio._Connection, "open", open_late):
                        answer = await client.look_up(["key3"])
            self.assertEqual(answer.data, [RECORDS[3]])
            self.assertEqual([server.status.name for server in answer.servers[:2]], wanted)
            self.assertEqual(len(hostile.requests), 1)

    async def test_a_server_that_resets_at_once(self):
        with mock.patch.object(pirx.aio._Connection, "open", side_effect=ConnectionResetError("it ended the connection at once")):
            async with pirx.aio.Client(self.by_key.deployment) as client:
                with self.assertRaisesRegex(pirx.Undecodable, "at once"):
                    await client.get("key3")
        exchange = pirx.aio.Client._exchange

        async def faulty(self, server, token, message, *rest):
            if message.server == 1:
                raise ZeroDivisionError
            return await exchange(self, server, token, message, *rest)

        with mock.patch.object(pirx.aio.Client, "_exchange", faulty):
            async with pirx.aio.Client(self.four.deployment) as client:
                self.assertEqual(await client.get("key3"), RECORDS[3])

    async def test_cancelled_in_the_library(self):
        real, entered, go_on, freed = pirx._client.library, threading.Event(), threading.Event(), threading.Event()
        inside, used = [], set()

        class Slow:
            def __getattr__(self, name):
                return getattr(real, name)

            def pirx_retrieval_next(self, *words):
                used.add(words[0])
                entered.set()
                go_on.wait(60)
                inside.append(freed.is_set())
                return real.pirx_retrieval_next(*words)

            def pirx_retrieval_free(self, raw):
                if raw in used:  # and not one that an earlier look-up left behind
                    freed.set()
                real.pirx_retrieval_free(raw)

        client = pirx.aio.Client(pirx.Client(self.by_key.deployment))
        with mock.patch.object(pirx._client, "library", Slow()):
            task = asyncio.ensure_future(client.get("key3"))
            self.assertTrue(await asyncio.to_thread(entered.wait, 60))
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            go_on.set()
            self.assertTrue(await asyncio.to_thread(freed.wait, 60))
        self.assertEqual(inside, [False])

    async def test_cancelled(self):
        async with Hostile(None) as hostile:
            deployment = replaced(self.by_key, {number: hostile.url for number in (0,)})
            async with pirx.aio.Client(pirx.Client(deployment, wait_for_all=True)) as client:
                task = asyncio.ensure_future(client.get("key3"))
                while not hostile.requests:
                    await asyncio.sleep(0.01)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual((len(hostile.requests), client._unwaited), (1, set()))

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

    async def test_a_cancellation_that_is_lost_comes_again(self):
        async def stubborn():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:  # asyncio.wait_for did so, up to Python 3.11, in a moment that a server can choose
                await asyncio.sleep(60)

        async def limited():
            limit = pirx.aio._Limit(0.01)
            try:
                await stubborn()
            finally:
                limit.end()

        with self.assertRaises(asyncio.CancelledError):
            await limited()
        task = asyncio.ensure_future(stubborn())
        await asyncio.sleep(0)
        await pirx.aio._end([task])
        self.assertTrue(task.cancelled())

    async def test_tls(self):
        certificate, key = self.path / "cert.pem", self.path / "key.pem"
        with pirx.serve(self.keyed, "spiral") as servers:
            text = servers.deployment_file.read_text()
        tls = ["--tls-cert", str(certificate), "--tls-key", str(key)]
        running = pirx._serve.Servers()
        with running:
            running._start([pirx._program.find_program(), "serve", str(self.keyed.path), "--protocol", "spiral", "--listen",
                            "127.0.0.1:0", *tls])
            content = json.loads(text)
            content["servers"][0]["url"] = "https://127.0.0.1:%d" % running._port(0, time.monotonic() + 20)
            unknown = pirx.Deployment.parse(json.dumps(content))
            content["servers"][0]["ca_file"] = certificate.name
            for old in (False, True):
                content["servers"][0]["tls_1.2"] = old
                known = pirx.Deployment.parse(json.dumps(content), folder=self.path)
                self.assertEqual(pirx.Client(known).servers[0].ca_file, str(certificate))
                threads, read = set(), pirx.aio._authorities

                def noted(file, threads=threads, read=read):
                    threads.add(threading.current_thread())
                    return read(file)

                async with pirx.aio.Client(known) as client:
                    with mock.patch.object(pirx.aio, "_authorities", noted):
                        self.assertEqual(await client.get("key9"), RECORDS[9])
                    self.assertTrue(threads and threading.main_thread() not in threads)
                    for context in client._contexts.values():
                        self.assertEqual({cipher["protocol"] for cipher in context.get_ciphers()}, {"TLSv1.2", "TLSv1.3"})
                        for cipher in context.get_ciphers():  # forward secrecy, and none of the old ways to chain blocks
                            self.assertRegex(cipher["name"], "^(TLS|ECDHE).*(GCM|CHACHA20)")
            os.mkfifo(self.path / "pipe")
            content["servers"][0]["ca_file"] = "pipe"
            endless = pirx.Deployment.parse(json.dumps(content), folder=self.path)
            content["servers"][0]["ca_file"] = certificate.name
            async with pirx.aio.Client(endless) as client:
                with self.assertRaisesRegex(pirx.InvalidArgument, "no regular file"):
                    await client.get("key9")
            # Authorities of nobody are not those of the system.
            for number, text in enumerate((b"", b"\xc3\xa9", b"\n")):
                (self.path / f"ca{number}").write_bytes(text)
                content["servers"][0]["ca_file"] = f"ca{number}"
                async with pirx.aio.Client(pirx.Deployment.parse(json.dumps(content), folder=self.path)) as client:
                    with self.assertRaises(pirx.InvalidArgument):
                        await client.get("key9")
            content["servers"][0]["ca_file"] = certificate.name
            # OpenSSL would ask for a pass phrase on the terminal, and reads the first two alike. And it takes seconds for
            # thousands of certificates, while the event loop waits.
            begin, text = certificate.read_text().split("\n", 1)
            info = "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n" + text
            for number, (lines, reason) in enumerate((
                    ("Proc-Type: 4,ENCRYPTED\n" + info, "encrypted"),
                    ("Proc\0x\n-Type: 4,ENC\0x\nRYPTED\n" + info, "encrypted"),
                    (f"{begin}\n" * 1000, "more than 1000 certificates"), ("#" * (1 << 19), "more than 512 KiB"))):
                (self.path / f"not{number}").write_text(f"{begin}\n{lines}")
                content["servers"][0]["ca_file"] = f"not{number}"
                async with pirx.aio.Client(pirx.Deployment.parse(json.dumps(content), folder=self.path)) as client:
                    with self.assertRaisesRegex(pirx.InvalidArgument, reason):
                        await client.get("key9")
            content["servers"][0]["ca_file"] = certificate.name
            # The certificate is for the address, not for this name.
            content["servers"][0]["url"] = content["servers"][0]["url"].replace("127.0.0.1", "localhost")
            other = pirx.Deployment.parse(json.dumps(content), folder=self.path)
            async with pirx.aio.Client(other) as client:
                with self.assertRaisesRegex(pirx.Error, "no trusted TLS"):
                    await client.get("key9")
            async with pirx.aio.Client(unknown) as client:
                with self.assertRaisesRegex(pirx.Error, "no trusted TLS"):
                    await client.get("key9")


class Loops(Served):
    def test_a_client_outlives_its_loop(self):
        client = pirx.aio.Client(self.by_key.deployment)
        for number in (3, 4):
            self.assertEqual(asyncio.run(client.get(f"key{number}")), RECORDS[number])
        # A loop that is closed in the middle of a look-up.
        loop = asyncio.new_event_loop()
        hostile = loop.run_until_complete(Hostile(None).__aenter__())
        stuck = pirx.aio.Client(pirx.Client(replaced(self.by_key, {0: hostile.url}), wait_for_all=True))
        task = loop.create_task(stuck.get("key3"))
        while not hostile.requests:
            loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
        with warnings.catch_warnings(), mock.patch.object(logging.getLogger("asyncio"), "disabled", True):
            warnings.simplefilter("ignore")  # asyncio itself warns of tasks that no loop ends
            stuck.close()
            with self.assertRaisesRegex(pirx.InvalidArgument, "closed"):
                asyncio.run(stuck.get("key3"))
            del task, stuck, hostile
            gc.collect()
        self.assertEqual(asyncio.run(client.get("key5")), RECORDS[5])

    def test_in_a_child_of_fork(self):
        """Its parent's threads are not there, and nothing waits for them."""
        client = pirx.aio.Client(self.by_key.deployment)
        self.assertEqual(asyncio.run(client.get("key3")), RECORDS[3])
        pirx.aio._resolving["silent.invalid", 7] = concurrent.futures.Future()
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                signal.alarm(30)
                try:
                    asyncio.run(client.get("key3"))
                except pirx.InvalidArgument as error:
                    code = 0 if "fork" in str(error) and not pirx.aio._resolving else 2
            os._exit(code)
        pirx.aio._resolving.clear()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(asyncio.run(client.get("key4")), RECORDS[4])

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
