# SPDX-License-Identifier: Apache-2.0
"""Look-ups in asyncio, over the event loop's sockets.

    async with pirx.aio.Client(deployment) as client:
        record = await client.get("bash")

The retrieval is the one of pirx.Client: the messages are the same. Work of the processor is done in threads of the client's
own, so that the event loop goes on; decoding in others than what messages need, so that no look-up's messages tell how long
another's decoding takes; and names are resolved in others again, at most one for each name: a name server that does not
answer holds nothing up but the messages to its server. With enough replies, the other messages are still sent if their
servers take them within a second, and then all connections of the round are ended before the work that follows.
"""
from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import contextlib
import contextvars
import errno
import functools
import ipaddress
import json
import os
import re
import socket
import ssl
import stat
import threading
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple, Type, TypeVar, Union
from urllib.parse import urlsplit

from ._client import (Action, Address, Answer, Believe, Client as BlockingClient, Deployment, Message, Retrieval, Wish,
                      as_array, listed)
from ._errors import (DataLoss, Error, InvalidArgument, ResourceExhausted, Unauthenticated, Unavailable, error_of)
from ._library import library

_MAX_HEAD = 64 * 1024
_MAX_REFUSAL = 16 * 1024
_CONNECT_SECONDS = 10.0
_LATE_SECONDS = 1.0
_MAX_AUTHORITIES_BYTES = 1 << 19
_MAX_AUTHORITIES = 1000
_MAX_HANDSHAKE = 24 * 1024  # bytes of a server, of which 16 KiB are certificates
_FIELD_TYPE = bytes.fromhex("2a8648ce3d01")  # 1.2.840.10045.1 of X9.62, in keys on a curve that they define
_AGAIN_SECONDS = 0.05

_Outcome = Union[bytes, Error]
_Place = Tuple[str, int]
_T = TypeVar("_T")


class Client:
    """The client of one event loop. `of` is a deployment, or a pirx.Client whose protocol and options are used.
    It closes what it made, not what it was given. While a reply is handed in it is there twice, beyond `max_memory`."""

    def __init__(self, of: Union[Deployment, BlockingClient]) -> None:
        if not isinstance(of, (Deployment, BlockingClient)):
            raise TypeError(f"give a pirx.Deployment or a pirx.Client, not {type(of).__name__}")
        self._deployment = of if isinstance(of, Deployment) else None
        self._made = of if isinstance(of, BlockingClient) else None
        self._making = threading.Lock()
        self._contexts: Dict[Tuple[Optional[str], bool], ssl.SSLContext] = {}  # by the name of the file
        self._same: Dict[Tuple[Optional[str], bool], ssl.SSLContext] = {}  # by what is in it
        self._unwaited: Set[asyncio.Task[Any]] = set()
        self._closed = False
        self._threads: Dict[str, concurrent.futures.ThreadPoolExecutor] = {}
        self._process = 0  # that has the threads
        self._under_way = 0

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Ends what is under way."""
        self._closed = True
        for task in list(self._unwaited):
            try:
                task.cancel()
            except RuntimeError:
                pass  # Its event loop was closed before it ended.
        self._end_threads()
        if self._made is not None and self._deployment is not None:
            self._made.close()

    async def get(self, wish: Wish) -> Optional[bytes]:
        """As pirx.Client.get()."""
        return (await self.look_up([wish])).records[0].data

    async def get_many(self, wishes: Iterable[Wish], *, dtype: Any = None) -> Any:
        """As pirx.Client.get_many()."""
        wanted = listed(wishes)
        found = (await self.look_up(wanted)).data if wanted else []
        return found if dtype is None else as_array(found, dtype)

    async def look_up(self, wishes: Iterable[Wish], *, believe: Optional[Believe] = None) -> Answer:
        """As pirx.Client.look_up(). Look-ups of one client may run at the same time."""
        if self._closed:
            raise InvalidArgument("this client is closed")
        self._under_way += 1
        try:
            return await self._look_up(wishes, believe)
        finally:
            self._under_way -= 1
            self._end_threads()

    async def _look_up(self, wishes: Iterable[Wish], believe: Optional[Believe]) -> Answer:
        client = await self._work(self._make) if self._made is None else self._made
        for server in client.servers:
            if server.origin.startswith("https:") and (server.ca_file, server.allow_tls_1_2) not in self._contexts:
                await self._work(self._context, server, client)  # reading the authorities takes long
        retrieval = await self._work(client.begin, wishes, believe=believe)
        tasks: List[asyncio.Task[_Outcome]] = []
        last = asyncio.get_running_loop().time() + retrieval._seconds
        try:
            message = await self._work(retrieval.next)
            while message.action != Action.FINISH:
                message = await self._round(client, retrieval, message, tasks, last)
            return await self._work(retrieval.finish, threads="decoding")
        except GeneratorExit:  # The event loop was closed: nothing can be waited for.
            retrieval.close()
            raise
        except asyncio.CancelledError:
            # A thread may still be at work on the retrieval, and closing it waits for that.
            self._work(retrieval.close, threads="decoding")
            await _end(tasks)
            raise
        except BaseException:
            retrieval.close()
            await _end(tasks)
            raise

    def _work(self, call: Callable[..., _T], *words: Any, threads: str = "messages", **named: Any) -> asyncio.Future[_T]:
        """Calls in a thread of this client. The event loop's own threads may be taken, by name servers that do not answer."""
        if self._process != os.getpid():  # A child of fork has none of its parent's threads.
            self._threads, self._process = {}, os.getpid()
        if threads not in self._threads:
            self._threads[threads] = concurrent.futures.ThreadPoolExecutor(thread_name_prefix=f"pirx-{threads}")
        context = contextvars.copy_context()

        def run() -> _T:
            return context.run(call, *words, **named)

        return asyncio.get_running_loop().run_in_executor(self._threads[threads], run)

    def _end_threads(self) -> None:
        """Once the client is closed and its last look-up has ended. Waits for no thread."""
        if self._closed and not self._under_way and self._process == os.getpid():
            for threads in self._threads.values():
                threads.shutdown(wait=False)

    def _make(self) -> BlockingClient:
        with self._making:
            if self._made is None:
                assert self._deployment is not None
                self._made = BlockingClient(self._deployment)
            return self._made

    async def _round(self, client: BlockingClient, retrieval: Retrieval, message: Message,
                     tasks: List[asyncio.Task[_Outcome]], last: float) -> Message:
        """Sends the messages of a round and hands in replies until the retrieval wants no more. Gives what it wants then."""
        places: Dict[_Place, int] = {}
        waiting: Dict[asyncio.Task[_Outcome], int] = {}
        written: List[asyncio.Future[None]] = []
        loop = asyncio.get_running_loop()
        end = min(loop.time() + client.deadline, last)
        tokens = client._tokens()
        while message.action == Action.SEND:
            sent = loop.create_future()
            task = loop.create_task(self._ask(client.servers[message.server], tokens[message.server], message,
                                              client.deadline, places, sent))
            self._unwaited.add(task)
            task.add_done_callback(self._unwaited.discard)
            task.add_done_callback(functools.partial(_settle, sent))
            written.append(sent)
            tasks.append(task)
            waiting[task] = message.id
            message = retrieval.next()
        wanted = message.action == Action.RECEIVE
        while wanted and waiting:
            done, _ = await asyncio.wait(waiting, timeout=max(0.0, end - loop.time()),
                                         return_when=asyncio.FIRST_COMPLETED)
            for task in done or set(waiting):
                number = waiting.pop(task)
                if not task.done():
                    task.cancel()
                    outcome: _Outcome = Unavailable("did not reply in time")
                else:
                    outcome = Unavailable("the client was closed") if task.cancelled() else task.result()
                wanted = await self._work(_hand_in, retrieval, number, outcome)
                if task.done():
                    tasks.remove(task)  # and the reply with it, of which the retrieval has a copy
                if not wanted:
                    break
        # Every message is sent, even where its reply is of no use any more, if its server takes it soon: one that reads nothing
        # does not hold the look-up until its deadline. Then the connections end before the work that follows, so that their
        # end tells nothing of it.
        await asyncio.wait(written, timeout=max(0.0, min(_LATE_SECONDS, end - loop.time())))
        await _end(tasks)
        return await self._work(retrieval.next)

    async def _ask(self, server: Address, token: str, message: Message, deadline: float, places: Dict[_Place, int],
                   sent: asyncio.Future[None]) -> _Outcome:
        """Sends a message once and reads the answer. Gives the body, or why there is none."""
        limit = _Limit(min(deadline, _CONNECT_SECONDS))
        try:
            return await self._exchange(server, token, message, deadline, places, sent, limit)
        except Error as error:
            return error
        except asyncio.CancelledError:
            if limit.over:
                return Unavailable("did not reply in time")
            raise
        except ssl.SSLError as error:
            if " alert " in str(error):
                return Unauthenticated(f"ended the TLS connection ({error}): it may want a certificate, or another one")
            return Unauthenticated(f"no trusted TLS connection ({error}): check the address and the trust anchors")
        except (asyncio.TimeoutError, TimeoutError):
            return Unavailable("did not reply in time")
        except asyncio.IncompleteReadError:
            return Unavailable("closed the connection in the middle of its reply")
        except OSError as error:
            return Unavailable(f"cannot be reached or broke off ({error})")
        except Exception as error:  # One hostile server does not end the look-up.
            return DataLoss(f"cannot be understood ({type(error).__name__}): is this a pirx server?")
        finally:
            limit.end()

    async def _exchange(self, server: Address, token: str, message: Message, deadline: float, places: Dict[_Place, int],
                        sent: asyncio.Future[None], limit: _Limit) -> bytes:
        parts = urlsplit(message.origin)
        secure = parts.scheme == "https"
        connection = _Connection()
        try:
            assert parts.hostname is not None
            place = _place_of(await connection.open(parts.hostname, parts.port or (443 if secure else 80)))
            if secure:
                work = functools.partial(self._work, threads=f"tls-{message.server}")
                await connection.start_tls(self._contexts[server.ca_file, server.allow_tls_1_2], parts.hostname, work)
            # Only now: a name that leads to another server's place must take nothing from that server.
            if places.setdefault(place, message.server) != message.server:
                raise InvalidArgument("is at the same address and port as another server, so nothing was sent to it: one "
                                      "server would get two servers' shares")
            limit.extend(deadline)
            known = f"Authorization: Bearer {token}\r\n" if token else ""
            head = (f"POST {message.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
                    "Content-Type: application/octet-stream\r\n"
                    f"Content-Length: {len(message.data)}\r\nPirx-Timeout: {max(1, round(deadline * 1000))}\r\n{known}"
                    "Connection: close\r\n\r\n")
            try:
                await connection.write(head.encode() + message.data)
            except ConnectionError:
                pass  # The server may have refused before it read all: its answer says so.
            _settle(sent)
            return await _read_answer(connection, message.max_reply_size)
        finally:
            connection.close()

    def _context(self, server: Address, client: BlockingClient) -> None:
        """Makes what TLS with a server needs."""
        with self._making:
            if (server.ca_file, server.allow_tls_1_2) not in self._contexts:
                self._make_context(server, client)

    def _make_context(self, server: Address, client: BlockingClient) -> None:
        kind = server.ca_file, server.allow_tls_1_2
        # With a file of its own, the system's authorities do not count.
        file = server.ca_file
        ssl.RAND_add(os.urandom(32), 32)  # a child of fork may have its parent's randomness, and would open TLS alike
        try:
            authorities = _authorities(file) if file else None
            same = self._same.get((authorities, server.allow_tls_1_2))
            if same is not None:
                self._contexts[kind] = same
                return
            made = ssl.create_default_context(cadata=authorities)
            # From Python 3.13 on it is set, and refuses authorities as `openssl req -x509` makes them by default.
            made.verify_flags &= ~ssl.VERIFY_X509_STRICT
            made.minimum_version = ssl.TLSVersion.TLSv1_2 if server.allow_tls_1_2 else ssl.TLSVersion.TLSv1_3
            made.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")  # of TLS 1.2
            made.set_ecdh_curve("prime256v1")  # no groups that take long: the event loop waits
            certificate, key = client._certificate
            if certificate is not None and key is not None:
                file = f"{os.fsdecode(certificate)}' or '{os.fsdecode(key)}"
                # Without a password, an encrypted key would be asked for on the terminal.
                made.load_cert_chain(certificate, key, password="")
        except OSError as error:
            raise InvalidArgument(f"cannot use '{file}', which TLS with {server.url} needs: "
                                  f"{error.strerror or error}") from None
        self._contexts[kind] = self._same[authorities, server.allow_tls_1_2] = made


def _authorities(file: str) -> str:
    """What a file of authorities holds. The deployment file may be somebody else's, and name what never ends to be read."""
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no regular file")
        text = opened.read(_MAX_AUTHORITIES_BYTES + 1)
    if text is None or len(text) > _MAX_AUTHORITIES_BYTES:
        raise OSError(errno.EFBIG, "more than 512 KiB")
    authorities = text.decode("ascii", "ignore")  # comments may be in any alphabet
    if not authorities:  # which ssl would take for the system's
        raise OSError(errno.EINVAL, "no certificate in it")
    # OpenSSL would ask for a pass phrase on the terminal, and wait. It skips what follows a zero byte in a line, so that zero
    # bytes could hide a word from us.
    if any(word in authorities for word in ("Proc-Type:", "ENCRYPTED", "\0")):
        raise OSError(errno.EINVAL, "no list of certificates: something in it is encrypted, or it is no text")
    if authorities.count("-----BEGIN ") > _MAX_AUTHORITIES:
        raise OSError(errno.EFBIG, f"more than {_MAX_AUTHORITIES} certificates")
    for part in authorities.split("-----BEGIN ")[1:]:
        body = part.partition("-----")[2].partition("-")[0]
        if ":" in body:  # a header, which OpenSSL skips
            raise OSError(errno.EINVAL, "a certificate with a header: leave it out")
        with contextlib.suppress(ValueError):  # what is no base64 is no certificate
            if _FIELD_TYPE in base64.b64decode(body + "=="):
                raise OSError(errno.EINVAL, "a certificate with an elliptic curve of its own: use one with a name")
    return authorities


_resolving: Dict[Tuple[str, int], concurrent.futures.Future[List[Any]]] = {}
_resolving_lock = threading.Lock()


def _forget_resolving() -> None:
    """In a child of fork nobody resolves on."""
    global _resolving_lock
    _resolving_lock = threading.Lock()
    _resolving.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_resolving)


async def _addresses(host: str, port: int) -> List[Any]:
    """As socket.getaddrinfo(). Who gives up leaves a thread behind until the resolver gives up, too. So there is at most one
    for a name in a process, for which others wait, and the end of the program does not wait for it."""
    # Plain HTTP may go to localhost, so no name server is asked where that is.
    local = f".{host}".lower().endswith(".localhost")
    with contextlib.suppress(socket.gaierror):
        return [found for literal in (("127.0.0.1", "::1") if local else (host,))
                for found in socket.getaddrinfo(literal, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)]
    with _resolving_lock:
        found = _resolving.get((host, port))
        if found is None:
            found = concurrent.futures.Future()
            threading.Thread(target=_resolve, args=(host, port, found), name="pirx-name", daemon=True).start()
            _resolving[host, port] = found
    loop = asyncio.get_running_loop()
    resolved: asyncio.Future[None] = loop.create_future()

    def wake(_: Any) -> None:
        with contextlib.suppress(RuntimeError):  # The event loop was closed meanwhile.
            loop.call_soon_threadsafe(_settle, resolved)

    found.add_done_callback(wake)
    await resolved
    return found.result()


def _resolve(host: str, port: int, found: concurrent.futures.Future[List[Any]]) -> None:
    addresses: List[Any] = []
    failed: Optional[Exception] = None
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except Exception as error:
        failed = error
    with _resolving_lock:
        _resolving.pop((host, port), None)
    if failed is None:
        found.set_result(addresses)
    else:
        found.set_exception(failed)


class _Limit:
    """Cancels the current task some seconds after it was made, and again until the task has ended. asyncio.wait_for cancels once,
    and up to Python 3.11 a cancellation is lost where what is waited for is done in the same moment, which a server can choose."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._start = self._loop.time()
        self._timer = self._loop.call_at(self._start + seconds, self._stop)

    def extend(self, seconds: float) -> None:
        """To so many seconds after it was made. Raises asyncio.CancelledError where it is over already."""
        if self.over:
            raise asyncio.CancelledError
        self._timer.cancel()
        self._timer = self._loop.call_at(self._start + seconds, self._stop)

    def end(self) -> None:
        self._timer.cancel()

    def _stop(self) -> None:
        assert self._task is not None
        self.over = True
        self._task.cancel()
        self._timer = self._loop.call_later(_AGAIN_SECONDS, self._stop)


class _Connection:
    """A connection that is read like an asyncio.StreamReader. When write() returns, the system has taken every byte; asyncio's
    own TLS keeps bytes in a buffer that nothing tells of."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket: Optional[socket.socket] = None
        self._tls: Optional[ssl.SSLObject] = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._unread = bytearray()

    async def open(self, host: str, port: int) -> Tuple[Any, ...]:
        """Gives the address that it leads to."""
        failed: Optional[OSError] = None
        for family, kind, protocol, _, address in await _addresses(host, port):
            self.close()
            self._socket = socket.socket(family, kind, protocol)
            self._socket.setblocking(False)
            try:
                await self._loop.sock_connect(self._socket, address)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return tuple(self._socket.getpeername())
            except OSError as error:
                failed = failed or error
        raise failed or OSError("the name has no address")

    async def start_tls(self, context: ssl.SSLContext, name: str,
                        work: Callable[[Callable[[], _T]], asyncio.Future[_T]]) -> None:
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        # OpenSSL reads the keys of all certificates before it trusts any, and may take half a second for each. So that happens
        # in a thread, and only as many bytes of them are read as the other clients read.
        await self._step(self._tls.do_handshake, work, _MAX_HANDSHAKE)

    async def write(self, data: bytes) -> None:
        assert self._socket is not None
        if self._tls is None:
            await self._loop.sock_sendall(self._socket, data)
            return
        left = memoryview(data)
        while left:
            left = left[await self._step(functools.partial(self._tls.write, left)):]

    async def readuntil(self, end: bytes) -> bytes:
        while end not in self._unread:
            if len(self._unread) > _MAX_HEAD:
                raise asyncio.LimitOverrunError("too long", len(self._unread))
            self._unread += await self._more(_MAX_HEAD)
        at = self._unread.index(end) + len(end)
        return self._take(at)

    async def readexactly(self, size: int) -> bytes:
        while len(self._unread) < size:
            self._unread += await self._more(size - len(self._unread))
        return self._take(size)

    async def read(self, most: int) -> bytes:
        """At most so many bytes; none at the end."""
        if not self._unread:
            try:
                self._unread += await self._more(most)
            except asyncio.IncompleteReadError:
                return b""
        return self._take(most)

    def close(self) -> None:
        """Ends it at once."""
        if self._socket is not None:
            self._socket.close()

    def _take(self, size: int) -> bytes:
        taken = bytes(self._unread[:size])
        del self._unread[:size]
        return taken

    async def _more(self, most: int) -> bytes:
        """Some bytes. Raises asyncio.IncompleteReadError at the end."""
        assert self._socket is not None
        most = min(most, 1 << 18)
        try:
            if self._tls is None:
                data = await self._loop.sock_recv(self._socket, most)
                await asyncio.sleep(0)
            else:
                data = await self._step(functools.partial(self._tls.read, most))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            data = b""
        if not data:
            raise asyncio.IncompleteReadError(b"", None)
        return data

    async def _step(self, step: Callable[[], _T], work: Optional[Callable[[Callable[[], _T]], asyncio.Future[_T]]] = None,
                    most: Optional[int] = None) -> _T:
        """A step of TLS, which may need `most` bytes of the server, and whose own bytes are sent."""
        assert self._socket is not None
        received = 0
        while True:
            try:
                done = step() if work is None else await work(step)
            except ssl.SSLWantReadError:
                await self._flush()
                # A server that sends messages without end must not hold the loop, whose deadlines end it.
                data = await self._loop.sock_recv(self._socket, 1 << 15)
                await asyncio.sleep(0)
                received += len(data)
                if most is not None and received > most:
                    raise DataLoss(f"sends more than {most} bytes before TLS has begun")
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
                continue
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    await self._flush()
                raise
            await self._flush()
            return done

    async def _flush(self) -> None:
        if self._outgoing.pending:
            assert self._socket is not None
            await self._loop.sock_sendall(self._socket, self._outgoing.read())


def _settle(sent: asyncio.Future[None], _: Any = None) -> None:
    if not sent.done():
        sent.set_result(None)


async def _end(tasks: List[asyncio.Task[_Outcome]]) -> None:
    """Ends the connections that are left."""
    left = {task for task in tasks if not task.done()}
    while left:  # What a task waits for may lose one cancellation, where it is done in the same moment.
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN_SECONDS)


def _hand_in(retrieval: Retrieval, number: int, outcome: _Outcome) -> bool:
    """Gives whether more replies are of use."""
    if isinstance(outcome, Error):
        retrieval.lost(number, outcome)
        return retrieval.waiting()
    try:
        retrieval.receive(number, outcome)
    except InvalidArgument:
        raise
    except Error:
        pass  # It counts as lost, and the retrieval says at the end what was wrong.
    return retrieval.waiting()


def _place_of(peer: Tuple[Any, ...]) -> _Place:
    """Where a connection leads to; every address of this machine's loopback is the same."""
    address: Union[ipaddress.IPv4Address, ipaddress.IPv6Address] = ipaddress.ip_address(str(peer[0]).partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return "loopback" if address.is_loopback else str(address), int(peer[1])


async def _read_answer(reader: Union[_Connection, asyncio.StreamReader], max_reply_size: int) -> bytes:
    """The body of an answer with status 200 and at most so many bytes. Raises what else it was."""
    for _ in range(8):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            head = b"x" * (_MAX_HEAD + 1)
        if len(head) > _MAX_HEAD:
            raise DataLoss("the header of its reply is too long: it is faulty or no pirx server")
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        words = first.split(" ", 2)
        if (len(words) < 2 or words[0] not in ("HTTP/1.1", "HTTP/1.0") or len(words[1]) != 3
                or not (words[1].isascii() and words[1].isdigit())):
            raise DataLoss("its reply is not HTTP/1.1: is this a pirx server?")
        status = int(words[1])
        if status >= 200:
            break
    else:
        raise DataLoss("its reply is not HTTP/1.1: is this a pirx server?")
    fields: Dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or (name.lower() in fields and name.lower() in ("content-length", "transfer-encoding")):
            raise DataLoss("its reply is not HTTP/1.1: is this a pirx server?")
        fields[name.lower()] = value.strip(" \t")
    chunked = "transfer-encoding" in fields  # by a proxy
    most = max_reply_size if status == 200 else _MAX_REFUSAL
    length = fields.get("content-length")
    if chunked and (length is not None or fields["transfer-encoding"].lower() != "chunked"):
        raise DataLoss("its reply is encoded in another way than by chunks: is this a pirx server?")
    read = _read_chunks if chunked else _read_up_to
    if length is not None and not (length.isascii() and length.isdigit() and len(length) < 20):
        raise DataLoss("its reply is not HTTP/1.1: is this a pirx server?")
    if status == 200:
        if fields.get("content-type", "").partition(";")[0].strip(" \t").lower() != "application/octet-stream":
            raise DataLoss("its reply is not of type application/octet-stream: is this a pirx server?")
        if length is not None and int(length) <= most:
            return await reader.readexactly(int(length))
        body = b"" if length is not None else await read(reader, most + 1)
        if length is not None or len(body) > most:
            raise DataLoss(f"its reply is longer than the {most} bytes that it can have: it is faulty or no pirx server")
        return body
    refusal = fields.get("pirx-error")
    if status >= 400 and refusal is not None:
        text = await read(reader, most if length is None else min(most, int(length)))
        raise error_of(library.pirx_status_from_name(refusal.encode()), _reason(text))
    if status == 429:
        raise ResourceExhausted("is overloaded (HTTP 429): try again later")
    if 502 <= status <= 504:
        raise Unavailable(f"is not available (HTTP {status})")
    raise DataLoss(f"answered HTTP {status}: is this a pirx server?")


async def _read_chunks(reader: Union[_Connection, asyncio.StreamReader], most: int) -> bytes:
    """The beginning of what the chunks hold."""
    body = bytearray()
    while len(body) < most:
        size = (await reader.readuntil(b"\r\n")).partition(b";")[0].strip()
        if not re.fullmatch(b"[0-9A-Fa-f]{1,16}", size):
            raise DataLoss("its reply is not HTTP/1.1: is this a pirx server?")
        left = min(int(size, 16), most - len(body))
        if left == 0:
            break
        body += await reader.readexactly(left)
        if len(body) < most and await reader.readexactly(2) != b"\r\n":
            raise DataLoss("its reply is not HTTP/1.1: is this a pirx server?")
    return bytes(body)


async def _read_up_to(reader: Union[_Connection, asyncio.StreamReader], most: int) -> bytes:
    body = bytearray()
    try:
        while len(body) < most:
            part = await reader.read(min(most - len(body), 1 << 18))
            if not part:
                break
            body += part
    except ConnectionError:
        pass  # What is there says enough of a refusal, and is too short for a reply.
    return bytes(body)


def _reason(body: bytes) -> str:
    try:
        text = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        text = ""
    return text[:1024] if isinstance(text, str) and text else "refused without a reason"
