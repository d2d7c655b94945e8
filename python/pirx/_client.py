# SPDX-License-Identifier: Apache-2.0
"""Deployments, clients, retrievals and answers: the four objects of <pirx/pirx.h>."""
from __future__ import annotations

import ctypes
import enum
import functools
import operator
import os
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import (TYPE_CHECKING, Any, Callable, ClassVar, Generator, Iterable, List, Mapping, NamedTuple, NoReturn, Optional,
                    Sequence, SupportsIndex, Tuple, Type, TypeVar, Union)

from ._errors import Error, InvalidArgument
from ._library import (BELIEVE, STOP, CBytes, CCredentials, CDatabase, CMessage, COption, COptions, CRecord, CServer,
                       CSummary, check, library, text_of)

if TYPE_CHECKING:
    import numpy

Wish = Union[str, bytes, SupportsIndex]
"""What is looked up: a key (str is taken as UTF-8) in a keyed database, a position in any other."""

Believe = Callable[[List[Optional[bytes]]], bool]
"""Says whether these can be the records that were asked for, in the order asked for. None: no such key."""

_Self = TypeVar("_Self", bound="_Handle")


class Certainty(enum.IntEnum):
    """How sure an answer is."""

    PROVEN = 0
    """Right, unless more servers lied than the answer's proof_bound, or the deployment's identity is wrong: with one
    server it may be that server's own word."""
    PROBABLE = 1
    """Not proven: the records' digests or the caller's `believe` decided."""
    UNVERIFIED = 2
    """Just enough servers replied, and nothing checks what they said."""


class ServerStatus(enum.IntEnum):
    """What is known of a server after a look-up."""

    OK = 0
    LIED = 1
    SUSPECTED = 2
    SILENT = 3
    REFUSED = 4
    MALFORMED = 5
    STALE = 6


class Action(enum.IntEnum):
    """What a retrieval wants next."""

    SEND = 1
    RECEIVE = 2
    FINISH = 3


class Record(NamedTuple):
    """One record of an answer."""

    data: Optional[bytes]
    """None: the database has no record with this key."""
    certainty: Certainty


class Server(NamedTuple):
    """A server after a look-up."""

    number: int
    url: str
    status: ServerStatus


@dataclass(frozen=True)
class Answer:
    """What a look-up found."""

    records: Tuple[Record, ...]
    """In the order asked for."""
    certainty: Certainty
    proof_bound: int
    """With PROVEN: the answer is right unless more servers than this lied."""
    responders: int
    """The number of servers whose replies were used."""
    rounds: int
    servers: Tuple[Server, ...]

    @property
    def liars(self) -> Tuple[Server, ...]:
        """The servers that are proven to have lied, by number and URL."""
        return tuple(server for server in self.servers if server.status == ServerStatus.LIED)

    @property
    def data(self) -> List[Optional[bytes]]:
        """The records alone."""
        return [record.data for record in self.records]


class Message(NamedTuple):
    """What a retrieval wants next. The members after `action` are set with Action.SEND only."""

    action: Action
    id: int
    server: int
    origin: str
    path: str
    data: bytes
    max_reply_size: int


class Address(NamedTuple):
    """How to reach a server."""

    origin: str
    path: str
    ca_file: str
    allow_tls_1_2: bool

    @property
    def url(self) -> str:
        """As people know it: the origin, and the database if it is named."""
        return self.origin if self.path == "/v1/query" else self.origin + self.path[:-len("/query")]


class _Handle:
    """An object of the library. It is freed once: by close(), at the end of a `with`, or with the last reference."""

    _kind: ClassVar[str]
    _free: ClassVar[str]
    _survives_fork: ClassVar[bool] = False
    _raw: Optional[int] = None
    _process: int = 0

    def _own(self, raw: ctypes.c_void_p) -> None:
        self._raw = raw.value
        self._process = os.getpid()

    def _use(self) -> int:
        raw = self._raw
        if raw is None:
            raise InvalidArgument(f"this {self._kind} is closed")
        if self._process != os.getpid() and not self._survives_fork:
            raise InvalidArgument(f"this {self._kind} was made before a fork: make another in the child")
        return raw

    def close(self) -> None:
        """Frees the object and wipes what the library knows of it. Closing twice does no harm."""
        raw, self._raw = self._raw, None
        # In a child of fork the connections and keys are the parent's.
        if raw is not None and self._process == os.getpid():
            getattr(library, self._free)(raw)

    def __enter__(self: _Self) -> _Self:
        self._use()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if self._raw is not None and library is not None:
            self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {self._kind} cannot be pickled or copied: make another from the deployment file")


class Deployment(_Handle):
    """What a deployment file says: which servers hold which database. Any threads may use it at the same time."""

    _kind, _free, _survives_fork = "deployment", "pirx_deployment_free", True

    protocols: Tuple[str, ...]
    """The names of the protocols by which the database is served."""
    records: int
    """The number of records; positions are 0 to records - 1."""
    record_bytes: int
    """The length of the longest record."""
    keyed: bool
    """True: records are asked for by key. False: by position."""
    epoch: int
    """Counts versions of the database upwards."""
    identity: str
    """64 hexadecimal digits that name the database and its content."""
    _clients: dict[int, Client]

    def __init__(self) -> None:
        raise TypeError("use pirx.Deployment.load(path) or pirx.Deployment.parse(text)")

    @classmethod
    def load(cls, path: Union[str, bytes, "os.PathLike[str]"]) -> Deployment:
        """Reads a deployment file ('pirx deploy' writes one). Get it from somebody you trust.

        Raises Unavailable: there is no such file. DataLoss: it is no deployment file, or one for a protocol that this
        library does not have. InvalidArgument: its parts do not fit each other."""
        name = os.fsencode(path)
        if b"\0" in name:
            raise InvalidArgument("the name of a file has no zero byte")
        raw = ctypes.c_void_p()
        check(library.pirx_deployment_load(name, ctypes.byref(raw)))
        return cls._made(raw)

    @classmethod
    def parse(cls, text: Union[str, bytes], folder: Union[str, "os.PathLike[str]", None] = None) -> Deployment:
        """Reads the text of a deployment file. Names of certificate files in it are relative to `folder`, by default the
        current one. Raises as load() does."""
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"the text of a deployment is str or bytes, not {type(text).__name__}")
        data = text.encode() if isinstance(text, str) else text
        raw = ctypes.c_void_p()
        check(library.pirx_deployment_parse(data, len(data), None if folder is None else os.fsencode(folder),
                                            ctypes.byref(raw)))
        return cls._made(raw)

    @classmethod
    def _made(cls, raw: ctypes.c_void_p) -> Deployment:
        self = cls.__new__(cls)
        self._own(raw)
        database, count, name = CDatabase(), ctypes.c_size_t(), ctypes.c_char_p()
        check(library.pirx_deployment_database(raw, ctypes.byref(database)))
        check(library.pirx_deployment_protocols(raw, ctypes.byref(count)))
        protocols = []
        for index in range(count.value):
            check(library.pirx_deployment_protocol(raw, index, ctypes.byref(name)))
            protocols.append(text_of(name.value))
        self.protocols, self.records, self.record_bytes = tuple(protocols), database.records, database.record_bytes
        self.keyed, self.epoch, self.identity = bool(database.keyed), database.epoch, bytes(database.identity).hex()
        self._clients = {}
        return self

    def client(self) -> Client:
        """The client of get(), get_many() and look_up(), which is made when it is first needed."""
        self._use()
        # In a child of fork this is another client. OpenMP does not survive a fork: protocols with heavy arithmetic of the
        # client (dj-tree) are not for a child whose parent has used them.
        process = os.getpid()
        found = self._clients.get(process)
        if found is None:
            made = Client(self)
            # Of two threads that come here at once, one makes a client in vain.
            found = self._clients.setdefault(process, made)
            if found is not made:
                made.close()
        return found

    def get(self, wish: Wish) -> Optional[bytes]:
        """Client.get() of the only protocol. Make a Client to choose a protocol or options."""
        return self.client().get(wish)

    def get_many(self, wishes: Iterable[Wish], *, dtype: Any = None) -> Any:
        """Client.get_many() of the only protocol."""
        return self.client().get_many(wishes, dtype=dtype)

    def look_up(self, wishes: Iterable[Wish], *, believe: Optional[Believe] = None) -> Answer:
        """Client.look_up() of the only protocol."""
        return self.client().look_up(wishes, believe=believe)

    def close(self) -> None:
        """Frees the deployment and its own client. Other clients go on."""
        for made in list(getattr(self, "_clients", {}).values()):
            made.close()
        super().close()

    def __repr__(self) -> str:
        return (f"<pirx.Deployment: {self.records} records of up to {self.record_bytes} bytes by "
                f"{'key' if self.keyed else 'position'}, epoch {self.epoch}, {', '.join(self.protocols)}>")


def _whole(name: str, value: SupportsIndex, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"{name} is a whole number, not {type(value).__name__}")
    number = operator.index(value)
    if not lowest <= number <= highest:
        raise InvalidArgument(f"{name} is {lowest} to {highest}, not {number}")
    return number


def _milliseconds(name: str, seconds: Optional[float]) -> int:
    if seconds is None:
        return 0
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} is a number of seconds, not {type(seconds).__name__}")
    if not 0 < seconds <= 86400:
        raise InvalidArgument(f"{name} is more than 0 and at most 86400 seconds, not {seconds}")
    return max(1, round(seconds * 1000))


def _copy(record: CRecord) -> Optional[bytes]:
    if not record.found:
        return None
    return ctypes.string_at(record.data, record.size) if record.size else b""


class _Heard:
    """A function that the library calls. What it raises, and what handlers of signals raise meanwhile, such as
    KeyboardInterrupt, is kept in `raised`, to be raised again after the call of the library: no exception can pass through
    it. After an exception the function gives `ended`. `turn` gets what the function is called with, and `raised`; it must not
    refer to this object, which would then stay until the next garbage collection."""

    def __init__(self, turn: Callable[[Any, List[BaseException]], int], ended: int) -> None:
        self.raised: List[BaseException] = []
        # Handlers run when a function begins or goes on. A function would begin before its `try`, and what is raised there
        # is lost; a generator goes on inside it.
        turns = self._turns(turn, ended, self.raised)
        next(turns)
        self._send = turns.send

    @staticmethod
    def _turns(turn: Callable[[Any, List[BaseException]], int], ended: int,
               raised: List[BaseException]) -> Generator[int, Any, None]:
        sent: Any = None
        while True:
            try:
                try:
                    while True:
                        sent = yield turn(sent, raised)
                except BaseException as error:
                    # A second signal's handler runs at the next call or turn of a loop: after the `yield`.
                    if error.__class__ is GeneratorExit and error.__traceback__ and error.__traceback__.tb_next is None:
                        return  # by the end of the generator, and not out of a handler
                    raised += (error,)
                    sent = yield ended
            except GeneratorExit:
                return
            except BaseException:
                pass  # The first one counts.


class _Belief(_Heard):
    """`believe` as the library calls it."""

    def __init__(self, believe: Believe) -> None:
        if not callable(believe):
            raise TypeError(f"believe is a function, not {type(believe).__name__}")
        records: Any = None

        def turn(sent: Any, raised: List[BaseException]) -> int:
            nonlocal records
            if not sent or raised:
                return 0
            if isinstance(sent, int):
                return 1 if believe([_copy(records[i]) for i in range(sent)]) else 0
            records = sent
            return 0

        super().__init__(turn, ended=0)
        # A generator takes one value at a time. max() sends it 0 and then the three arguments: context (None), records and
        # their number, which is the greatest if they are believed; if not, all are alike, and max() gives the first.
        self.function = BELIEVE(functools.partial(max, 0, key=self._send))

    def check(self) -> None:
        if self.raised:
            raised = self.raised[0]
            self.raised.clear()
            raise raised


class _Watch(_Heard):
    """Lets signals be heard while the library waits for servers: what their handlers raise ends the wait. For one call, in
    the main thread, where handlers run."""

    def __init__(self) -> None:
        super().__init__(lambda _, raised: 1 if raised else 0, ended=1)
        self.function = STOP(self._send)


def _file_name(name: str, value: Union[str, bytes, "os.PathLike[str]", None]) -> Optional[bytes]:
    if value is None:
        return None
    found = os.fsencode(value)
    if not found or b"\0" in found:
        raise InvalidArgument(f"{name} is the name of a file")
    return found


def _tokens(token: Union[str, Mapping[str, str], None]) -> Optional[bytes]:
    """The text of a token file. No message of an exception holds a token."""
    if token is None:
        return None
    words = [token] if isinstance(token, str) else None
    if isinstance(token, Mapping):
        words = [word for pair in token.items() for word in pair]
    if words is None or not all(isinstance(word, str) for word in words):
        raise TypeError("token is a token, or for several servers a dict of their URLs and tokens")
    if not words or not all(word.isascii() and word.isprintable() and word and " " not in word for word in words):
        raise InvalidArgument("a token and a URL have printable characters of ASCII, and no spaces")
    if isinstance(token, str):
        return token.encode()
    return "".join(f"{url} {one}\n" for url, one in token.items()).encode()


class Client(_Handle):
    """Asks the servers of one protocol of a deployment. Make one, and use it for all look-ups: in some protocols it has
    keys, which take seconds to make or megabytes to send. Any threads may use it; with a single server their messages wait for
    each other.

    protocol    one of deployment.protocols; None: the only one
    options     options of the protocol's client, as `pirx get --help` lists them: {"seeded": "on"}
    liars       how many lying servers to be safe from; None: as many as can be
    rounds      the most rounds in all, of which those after the first tell liars apart, 1 to 8; None: 4
    wait_for_all  waits for every server, so that each one's behaviour is known
    believe     chooses where replies prove nothing; None: the records' digests choose
    max_bytes, max_memory, max_work
                what a plan may ask of this client: bytes of a query (256 MiB), bytes held at once (1 GiB; where they do
                not hold the replies of so many rounds, there are fewer), and seconds of one core for each query (60)
    deadline    seconds to wait for each round of replies, and as long as all rounds to decode those of several servers;
                None: 10, and 600 with a single server, which has them once for each wish (three times for a key), and
                once more, for all rounds together
    token       for servers that want to know who asks: the token for the only server, or {URL: token}, a URL being scheme,
                host and port; token_file: in place of it the name of a file with lines "URL TOKEN", or one token
    tls_cert, tls_key   likewise: PEM files of this client's certificate and its private key

    With a single server leave liars, rounds and wait_for_all alone.
    Raises InvalidArgument: the deployment has no such protocol, or several and none was named; the protocol has no such
    option; or the servers' plan would not hide what is asked for."""

    _kind, _free = "client", "pirx_client_free"

    warning: str
    """What the user should be told before the client is used. Usually empty."""
    servers: Tuple[Address, ...]
    """The servers, in the order of their numbers."""

    def __init__(self, deployment: Deployment, protocol: Optional[str] = None, *,
                 options: Optional[Mapping[str, str]] = None, liars: Optional[int] = None, rounds: Optional[int] = None,
                 wait_for_all: bool = False, believe: Optional[Believe] = None, max_bytes: Optional[int] = None,
                 max_memory: Optional[int] = None, max_work: Optional[float] = None,
                 deadline: Optional[float] = None, token: Union[str, Mapping[str, str], None] = None,
                 token_file: Union[str, bytes, "os.PathLike[str]", None] = None,
                 tls_cert: Union[str, bytes, "os.PathLike[str]", None] = None,
                 tls_key: Union[str, bytes, "os.PathLike[str]", None] = None) -> None:
        if not isinstance(deployment, Deployment):
            raise TypeError(f"a client is made from a pirx.Deployment, not {type(deployment).__name__}")
        if protocol is not None and not isinstance(protocol, str):
            raise TypeError(f"protocol is the name of one, not {type(protocol).__name__}")
        if believe is not None and not callable(believe):
            raise TypeError(f"believe is a function, not {type(believe).__name__}")
        most = 2**64 - 1
        wanted = COptions()
        check(library.pirx_options_init(ctypes.byref(wanted), ctypes.sizeof(wanted)))
        wanted.liars = -1 if liars is None else _whole("liars", liars, 0, 2**31 - 1)
        wanted.rounds = 0 if rounds is None else _whole("rounds", rounds, 1, 8)
        wanted.wait_for_all = 1 if wait_for_all else 0
        wanted.max_bytes = 0 if max_bytes is None else _whole("max_bytes", max_bytes, 1, most)
        wanted.max_memory = 0 if max_memory is None else _whole("max_memory", max_memory, 1, most)
        wanted.max_work = _milliseconds("max_work", max_work)
        wanted.deadline = _milliseconds("deadline", deadline)
        self._options, self._believe, self.keyed = wanted, believe, deployment.keyed
        self._usual = ctypes.byref(wanted)
        self._call = library.pirx_client_fetch_keys if self.keyed else library.pirx_client_fetch_positions

        pairs = list((options or {}).items())
        for pair in pairs:
            if not all(isinstance(word, str) and "\0" not in word for word in pair):
                raise TypeError(f"options are names and values, as in {{\"seeded\": \"on\"}}, not {pair!r}")
        texts = (COption * len(pairs))(*[COption(name.encode(), value.encode()) for name, value in pairs])
        if token is not None and token_file is not None:
            raise InvalidArgument("give token or token_file, not both")
        if (tls_cert is None) != (tls_key is None):
            raise InvalidArgument("a certificate needs its key: give tls_cert and tls_key, or neither")
        tokens = _tokens(token)
        shown = CCredentials(tokens, len(tokens or b""), _file_name("token_file", token_file),
                             _file_name("tls_cert", tls_cert), _file_name("tls_key", tls_key))
        raw = ctypes.c_void_p()
        check(library.pirx_client_create_with(deployment._use(), None if protocol is None else protocol.encode(), texts,
                                              len(pairs), ctypes.byref(shown), ctypes.byref(raw)))
        self._own(raw)
        warning, count, server = ctypes.c_char_p(), ctypes.c_size_t(), CServer()
        check(library.pirx_client_warning(raw, ctypes.byref(warning)))
        check(library.pirx_client_servers(raw, ctypes.byref(count)))
        self.warning = text_of(warning.value)
        addresses = []
        for index in range(count.value):
            check(library.pirx_client_server(raw, index, ctypes.byref(server)))
            addresses.append(Address(text_of(server.origin), text_of(server.path), text_of(server.ca_file),
                                     bool(server.allow_tls_1_2)))
        self.servers = tuple(addresses)

    def get(self, wish: Wish) -> Optional[bytes]:
        """The record with this key, or at this position. None: the database has no record with this key. Where only one
        server is asked, or just enough reply, nothing proves that: look_up() says how sure it is.

        Raises OutOfRange: there is no such position. Undecodable: too few of several servers replied or told the truth.
        Unavailable: the only server did not reply. StaleEpoch: the servers have another version of the database."""
        if self._believe is not None:
            return self.look_up([wish]).records[0].data
        # The common case, in as few steps as it can be: bench/python/report measures it.
        self._use()
        one: Any
        if self.keyed:
            key = _key(wish)
            one = CBytes(key, len(key))
        else:
            one = ctypes.c_uint64(_position(wish))
        answer, record = ctypes.c_void_p(), CRecord()
        try:
            self._wait(ctypes.byref(one), 1, None, answer)
            status = library.pirx_answer_record(answer, 0, ctypes.byref(record))
            if status:
                check(status)
            return _copy(record)
        finally:
            library.pirx_answer_free(answer)

    def get_many(self, wishes: Iterable[Wish], *, dtype: Any = None) -> Any:
        """The records of many keys or positions, a list in the order asked for, with None where there is no such key.

        With `dtype` it is a numpy array: a row for each record, or one item where that is as long as a record. All records
        must be there and have one length. Servers see how many are asked for. 256 is the most: a second look-up would begin
        when the first one has been read, and so tell servers how long that took, which depends on the records."""
        wanted = listed(wishes)
        found = self.look_up(wanted).data if wanted else []
        return found if dtype is None else as_array(found, dtype)

    def look_up(self, wishes: Iterable[Wish], *, believe: Optional[Believe] = None) -> Answer:
        """Looks 1 to 256 records up together, and tells what the answer rests on. `believe` replaces the client's.
        Raises as get() does."""
        return self._look_up(listed(wishes), believe)

    def _look_up(self, wishes: Sequence[Wish], believe: Optional[Believe], stop: Optional[Callable[[], bool]] = None) -> Answer:
        """`stop` says whether the look-up should end, and is asked about every 50 milliseconds."""
        array, chosen, answer = self._array(wishes), believe or self._believe, ctypes.c_void_p()
        self._use()
        try:
            self._wait(array, len(array), None if chosen is None else _Belief(chosen), answer, stop)
            return self._read(answer)
        finally:
            library.pirx_answer_free(answer)

    def begin(self, wishes: Iterable[Wish], *, believe: Optional[Believe] = None) -> Retrieval:
        """Begins a look-up whose messages the caller moves."""
        return Retrieval(self, wishes, believe=believe)

    def _wait(self, wishes: Any, count: int, belief: Optional[_Belief], answer: ctypes.c_void_p,
              stop: Optional[Callable[[], bool]] = None) -> None:
        """Looks up over the library's connections. The library lets the messages of one look-up wait for another's; nothing
        waits for a look-up that is being decoded, as servers would see how long that takes."""
        watch = None
        own = COptions.from_buffer_copy(self._options)
        if stop is not None:
            ask = stop
            own.stop = STOP(lambda _: ask())
        elif threading.get_ident() == threading.main_thread().ident:
            watch = _Watch()
            own.stop = watch.function
        if belief is not None:
            own.believe = belief.function
        try:
            status = self._call(self._raw, wishes, count, ctypes.byref(own), ctypes.byref(answer))
        finally:
            # Nothing is called here: another handler would run at that, and what it raises would take this one's place.
            if belief is not None and belief.raised:
                raise belief.raised[0]
            if watch is not None and watch.raised:
                raise watch.raised[0]
        if status:
            self._use()  # It may have been closed meanwhile.
            check(status)

    def _array(self, wishes: Sequence[Wish]) -> Any:
        """The wishes as the library takes them."""
        if self.keyed:
            keys = [_key(wish) for wish in wishes]
            return (CBytes * len(keys))(*[CBytes(key, len(key)) for key in keys])
        return (ctypes.c_uint64 * len(wishes))(*[_position(wish) for wish in wishes])

    def _read(self, answer: ctypes.c_void_p) -> Answer:
        """Copies an answer."""
        count, summary = ctypes.c_size_t(), CSummary()
        check(library.pirx_answer_records(answer, ctypes.byref(count)))
        check(library.pirx_answer_summary(answer, ctypes.byref(summary)))
        records, servers = [], []
        record, status = CRecord(), ctypes.c_int()
        for index in range(count.value):
            check(library.pirx_answer_record(answer, index, ctypes.byref(record)))
            records.append(Record(_copy(record), Certainty(record.certainty)))
        for number, address in enumerate(self.servers):
            check(library.pirx_answer_server(answer, number, ctypes.byref(status)))
            servers.append(Server(number, address.url, ServerStatus(status.value)))
        return Answer(tuple(records), Certainty(summary.certainty), summary.proof_bound, summary.responders,
                      summary.rounds, tuple(servers))

    def __repr__(self) -> str:
        return f"<pirx.Client of {', '.join(server.url for server in self.servers)}>"


class Retrieval(_Handle):
    """One look-up in progress, for callers who move its messages themselves. It opens no socket. One
    thread at a time may use it. docs/c_interface.md has the loop and the rules that keep a look-up private.

    `believe` and the limits are the client's."""

    _kind, _free = "retrieval", "pirx_retrieval_free"

    def __init__(self, client: Client, wishes: Iterable[Wish], *, believe: Optional[Believe] = None) -> None:
        if not isinstance(client, Client):
            raise TypeError(f"a retrieval is begun with a pirx.Client, not {type(client).__name__}")
        array, options, chosen = client._array(listed(wishes)), client._usual, believe or client._believe
        self._belief = None if chosen is None else _Belief(chosen)
        if self._belief is not None:
            own = COptions.from_buffer_copy(client._options)
            own.believe = self._belief.function
            options = ctypes.byref(own)
        begin = library.pirx_retrieval_begin_keys if client.keyed else library.pirx_retrieval_begin_positions
        self._client = client
        # close() waits for a call in another thread, such as one that a cancelled look-up left behind.
        self._lock = threading.RLock()
        raw = ctypes.c_void_p()
        check(begin(client._use(), array, len(array), options, ctypes.byref(raw)))
        self._own(raw)

    def next(self) -> Message:
        """Says what to do next: with SEND, send the message; with RECEIVE, wait for a reply and hand it in; with FINISH,
        call finish(). The call that gives the first message of a round may take long."""
        message = CMessage()
        with self._lock:
            self._call(library.pirx_retrieval_next(self._use(), ctypes.byref(message)))
            data = ctypes.string_at(message.data, message.size) if message.size else b""
            return Message(Action(message.action), message.id, message.server, text_of(message.origin),
                           text_of(message.path), data, message.max_reply_size)

    def waiting(self) -> bool:
        """Says whether replies to messages of this round are still of use. Ask after each reply. Once it is False, stop
        waiting; with several servers, close their connections before next(): how long that takes may depend on the records."""
        waiting = ctypes.c_int()
        with self._lock:
            self._call(library.pirx_retrieval_waiting(self._use(), ctypes.byref(waiting)))
        return bool(waiting.value)

    def close(self) -> None:
        """Frees the retrieval, after a call of another thread."""
        if self._process != os.getpid():
            super().close()  # Nobody is left in a child of fork who would release the lock.
            return
        with self._lock:
            super().close()

    def receive(self, id: int, reply: bytes) -> None:
        """Hands in the reply to the message with this number. An error other than InvalidArgument says what is wrong with
        the reply: it then counts as lost, and the retrieval goes on."""
        data = bytes(memoryview(reply))
        with self._lock:
            self._call(library.pirx_retrieval_receive(self._use(), _whole("id", id, 0, 2**64 - 1), data, len(data)))

    def lost(self, id: int, why: Union[Error, Type[Error]], text: str = "") -> None:
        """Says that there will be no reply to a message, and why: pirx.Unavailable if there was no answer in time or no
        connection, and if the server refused, the kind of error that it named. The retrieval goes on."""
        said = text or ("" if isinstance(why, type) else str(why))
        with self._lock:
            self._call(library.pirx_retrieval_lost(self._use(), _whole("id", id, 0, 2**64 - 1), why.code,
                                                   said.replace("\0", " ").encode("utf-8", "replace") or None))

    def finish(self) -> Answer:
        """Makes the answer. Close the connections to servers first: how long this takes may depend on the records. Raises
        as Client.get() does. The retrieval is closed either way."""
        answer = ctypes.c_void_p()
        try:
            with self._lock:
                self._call(library.pirx_retrieval_finish(self._use(), ctypes.byref(answer)))
            return self._client._read(answer)
        finally:
            library.pirx_answer_free(answer)
            self.close()

    def _call(self, status: int) -> None:
        if self._belief is not None:
            self._belief.check()
        check(status)


def listed(wishes: Iterable[Wish]) -> List[Wish]:
    """The wishes as a list. One text is a mistake: it would be taken for its letters."""
    if isinstance(wishes, (str, bytes, bytearray, memoryview)):
        raise TypeError("give a list of keys, not one key")
    try:
        return list(wishes)
    except TypeError:
        raise TypeError(f"give a list of keys or positions, not {type(wishes).__name__}") from None


def as_array(records: Sequence[Optional[bytes]], dtype: Any) -> numpy.ndarray[Any, Any]:
    """The records as a numpy array."""
    try:
        import numpy
    except ImportError:
        raise InvalidArgument("dtype needs numpy, which is not installed") from None
    kind = numpy.dtype(dtype)
    if kind.hasobject:
        raise InvalidArgument("records hold no Python objects: give a dtype of numbers or bytes")
    lengths = {None if record is None else len(record) for record in records}
    if None in lengths:
        raise InvalidArgument("the database has no record with one of the keys, so there is no array: leave dtype out")
    if len(lengths) > 1:
        raise InvalidArgument("the records have several lengths, so they make no array: leave dtype out")
    length = next(iter(lengths)) if lengths else kind.itemsize
    if not length or not kind.itemsize or length % kind.itemsize:
        raise InvalidArgument(f"records of {length} bytes are no items of {kind.itemsize} bytes ({kind})")
    array: numpy.ndarray[Any, Any] = numpy.frombuffer(b"".join(r for r in records if r is not None), kind)
    return array if length == kind.itemsize else array.reshape(len(records), -1)


def _key(wish: Wish) -> bytes:
    if type(wish) is bytes:
        return wish
    if isinstance(wish, str):
        try:
            return wish.encode()
        except UnicodeEncodeError:
            pass  # The exception would hold the key, and so would one that is raised in this block.
        raise InvalidArgument("a key of type str has a character that UTF-8 cannot say: give bytes")
    if isinstance(wish, (bytes, bytearray, memoryview)):
        return bytes(wish)
    raise TypeError(f"the database is keyed: a key is str or bytes, not {type(wish).__name__}")


def _position(wish: Wish) -> int:
    if isinstance(wish, (bool, str, bytes)) or not isinstance(wish, SupportsIndex):
        raise TypeError(f"the database has no keys: a position is a whole number, not {type(wish).__name__}")
    position = operator.index(wish)
    return position if 0 <= position < 2**64 else 2**64 - 1  # asked for all the same: no database has that one
