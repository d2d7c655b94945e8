# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of the service share: databases, servers as processes, their CPU times and metrics, and a client that checks answers.

The client speaks docs/wire_format.md over GF(2^8) with the standard library alone (bytes.translate multiplies a vector by an element), so
that an answer is checked by other code than the library's.
"""

import http.client
import json
import os
import pathlib
import random
import secrets
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples/python_client"), str(ROOT / "bench")]
import gbench  # noqa: E402
import pirx_client as wire  # noqa: E402

FIELD = wire.BinaryField(8, 0x1B)
TIMES = [bytes(FIELD.mul(a, b) for b in range(256)) for a in range(256)]  # TIMES[a] translates b to a * b


def parse_arguments(parser):
    """With the two of every benchmark, and the program to measure as `pirx`."""
    gbench.add_build_dir(parser)
    parser.add_argument("--json", type=pathlib.Path, help="where the report goes, beside standard output")
    arguments = parser.parse_args()
    if not getattr(arguments, "plot_only", False):
        arguments.pirx = gbench.program(arguments.build_dir, "tools/pirx/pirx")
    elif not arguments.json or not arguments.plot:
        parser.error("--plot-only needs --json and --plot")
    return arguments


def run(*command, **options):
    """The standard output of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        sys.exit(f"{sys.argv[0]}: {command[0]} {command[1]} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return done.stdout


def context(pirx):
    """The machine and the program, and how busy the machine is as this begins."""
    return {"cpu": gbench.CPU, "cores": os.cpu_count(), "load_average_before": round(os.getloadavg()[0], 2), "commit": gbench.COMMIT,
            "pirx": run(pirx, "--version").decode().split("\n")[0]}


def write_report(report, path):
    """As JSON, with a line for each element of a long list."""
    report["context"]["load_average_after"] = round(os.getloadavg()[0], 2)
    lines = []
    for name, value in report.items():
        text = json.dumps(value)
        if isinstance(value, list) and len(text) > 120:
            text = "[\n" + ",\n".join("    " + json.dumps(element) for element in value) + "\n  ]"
        lines.append(f"  {json.dumps(name)}: {text}")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sys.stdout.write(text)


def make_database(pirx, path, records, record_bytes, per_row=1):
    """A database of random records of one length, without digests."""
    raw = path.with_suffix(".raw")
    with open(raw, "wb") as out:
        left = records * record_bytes
        while left:
            left -= out.write(random.randbytes(min(left, 1 << 24)))
    run(pirx, "db", "build", path, raw, "--from", "fixed", "--record-bytes", record_bytes, "--records-per-row", per_row, "--no-digests")
    raw.unlink()


def free_port():
    """One below those that the system gives to outgoing connections, so that it is free again for a restart."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def make_certificate(folder):
    """A self-signed one for 127.0.0.1 and its key, as files."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate,
        "-days", "2", "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1")
    return certificate, key


class Server:
    """A pirx serve that can be stopped, killed and started again on its port. Its log goes to a file. With `tls` (a certificate and its key,
    as files) it speaks https."""

    def __init__(self, pirx, database, log, *options, quiet=True, tls=None):
        self.port = free_port()
        self.log = pathlib.Path(log)
        self.certificate, self.trust = None, None
        if tls:
            self.certificate, self.trust = tls[0], ssl.create_default_context(cafile=tls[0])
            options = (*options, "--tls-cert", tls[0], "--tls-key", tls[1])
        self.command = [str(pirx), "serve", str(database), "--listen", f"127.0.0.1:{self.port}", *map(str, options)]
        if quiet:
            self.command.append("--quiet")  # passes are not logged
        self.process = None
        self.start()

    @property
    def url(self):
        return f"{'https' if self.trust else 'http'}://127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def start(self, patience=300):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stderr=log, stdout=log)
        deadline = time.monotonic() + patience
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{sys.argv[0]}: a server did not start: {self.log.read_text()[-800:]}")
            time.sleep(0.02)

    def open_socket(self, timeout):
        """A connection, after its handshake if there is TLS."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        return self.trust.wrap_socket(plain, server_hostname="127.0.0.1") if self.trust else plain

    def open_http(self, timeout):
        if self.trust:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.trust)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def get(self, path, timeout=10):
        """Status and body."""
        connection = self.open_http(timeout)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def ready(self):
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def stop(self, patience=60):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()

    def begin_load(self, connections, seconds, *more, deadline=120):
        """`pirx load`: connections that ask again as soon as they have an answer, if no --rate says otherwise."""
        command = [self.command[0], "load", self.url, "--connections", connections, "--duration", f"{seconds}s", "--deadline", f"{round(1e3 * deadline)}ms",
                   "--json", *(("--ca", self.certificate) if self.trust else ()), *more]
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def load(self, connections, seconds, deadline=120):
        """What `pirx load` reports. Every request must be answered."""
        load = self.begin_load(connections, seconds, deadline=deadline)
        report = finish_load(load)
        if load.returncode:
            sys.exit(f"{sys.argv[0]}: the load ended with {load.returncode}")
        return report

    def metrics(self):
        """Name, with labels as they are printed, to value."""
        lines = self.get("/metrics")[1].decode().split("\n")
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line and line[0] != "#")}

    def cpu_seconds(self):
        """Of all threads, by thread id."""
        times = {}
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            try:
                fields = (task / "schedstat").read_text().split()
                times[int(task.name)] = int(fields[0]) / 1e9
            except (OSError, IndexError):  # it has ended
                pass
        return times

    def memory(self):
        """VmRSS and its parts, in bytes."""
        wanted = ("VmRSS", "RssAnon", "RssFile")
        lines = pathlib.Path(f"/proc/{self.pid}/status").read_text().split("\n")
        return {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines if line.split(":")[0] in wanted}


def finish_load(load):
    out, err = load.communicate()
    if not out:
        sys.exit(f"{sys.argv[0]}: the load failed: {err.decode()[-300:]}")
    return json.loads(out)


class Refused(Exception):
    """What a server said instead of an answer."""

    def __init__(self, status, code):
        super().__init__(f"{status} {code}")
        self.status, self.code = status, code


class Connection:
    """One kept alive to a server, with a query sent before its answer is awaited."""

    def __init__(self, server, timeout):
        self.server, self.timeout, self.http = server, timeout, None

    def send(self, body):
        if self.http is None:
            self.http = self.server.open_http(self.timeout)
        try:
            self.http.request("POST", "/v1/query", body, {"Content-Type": "application/octet-stream"})
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def receive(self):
        try:
            response = self.http.getresponse()
            body = response.read()
            if response.status != 200:
                raise Refused(response.status, response.getheader("Pirx-Error", "?"))
            if response.will_close:
                self.close()
            return body
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def close(self):
        if self.http is not None:
            self.http.close()
            self.http = None


def xor(a, b):
    return (int.from_bytes(a, "little") ^ int.from_bytes(b, "little")).to_bytes(len(a), "little")


def read_parameters(server, timeout=10):
    """The database that a server says it has, and its coordinate."""
    status, message = server.get("/v1/parameters", timeout)
    if status != 200:
        raise Refused(status, "parameters")
    head = dict(zip(wire.HEADER_FIELDS, wire.HEADER.unpack_from(message)))
    records, record_bytes, per_row, flags = struct.unpack_from("<4Q", message, wire.HEADER.size + 16)
    assert head["field"] == FIELD.tag and not flags & 4, "not a plain database over GF(2^8)"
    return wire.Database(head["identity"], head["epoch"], records, record_bytes, per_row, bool(flags & 1), bool(flags & 2)), head["coordinate"]


def make_queries(database, coordinates, position):
    """A query message for every coordinate; any one of them tells nothing, two give the record."""
    row = position // database.records_per_row
    coins = secrets.token_bytes(database.rows)
    queries = []
    for x in coordinates:
        share = bytearray(coins.translate(TIMES[x]))
        share[row] ^= 1
        queries.append(wire.encode_header(wire.QUERY, FIELD, database, x, 1, database.rows) + share)
    return queries


def cut_reply(database, x, message):
    """The words of a reply to one query; ValueError unless it is exactly what was asked for."""
    if message[:wire.HEADER.size] != wire.encode_header(wire.REPLY, FIELD, database, x, 1, database.row_bytes):
        raise ValueError("another header than asked for")
    if len(message) != wire.HEADER.size + database.row_bytes:
        raise ValueError("another length than asked for")
    return message[wire.HEADER.size:]


def interpolate(x, a, y, b):
    """The value at 0 of the line through (x, a) and (y, b)."""
    at_x, at_y = wire.lagrange(FIELD, (x, y))
    return xor(a.translate(TIMES[at_x]), b.translate(TIMES[at_y]))


def record_of(database, position, row):
    start = position % database.records_per_row * database.slot_bytes + 16 * database.digests
    return row[start:start + database.record_bytes]


class Checker:
    """Fetches known records from one server: e_i + x G and G are both query vectors, and the difference of the replies is row i."""

    def __init__(self, server, known):
        self.known = known
        self.database, self.x = read_parameters(server)
        self.connections = [Connection(server, 120) for _ in range(2)]
        self.right = self.wrong = self.refused = 0

    def check(self, position):
        mask = make_queries(self.database, [self.x, self.x], position)  # both are e_i + x G, of the same coins
        other = bytearray(mask[1])
        other[wire.HEADER.size + position // self.database.records_per_row] ^= 1
        for connection, query in zip(self.connections, (mask[0], bytes(other))):
            connection.send(query)
        a, b = (cut_reply(self.database, self.x, connection.receive()) for connection in self.connections)
        if record_of(self.database, position, xor(a, b)) == self.known[position]:
            self.right += 1
        else:
            self.wrong += 1

    def check_all(self):
        for position in self.known:
            self.check(position)
        for connection in self.connections:
            connection.close()
        if self.wrong:
            sys.exit(f"{sys.argv[0]}: the server gave a wrong answer")

    def run_until(self, stop):
        positions = list(self.known)
        while not stop.is_set():
            try:
                self.check(positions[(self.right + self.wrong) % len(positions)])
            except Refused:  # a server that knows passes of one query only thinks that hundreds take for ever
                self.refused += 1
                for connection in self.connections:
                    connection.close()
                stop.wait(0.2)
        for connection in self.connections:
            connection.close()


def known_records(pirx, database, records, count=8):
    """Some positions and their records, read from the file."""
    return {at: run(pirx, "db", "get", database, at, "--raw") for at in range(0, records, max(1, records // count))}


def passes(server, since=0):
    """Queries and seconds of every pass in the log from its line `since` on."""
    lines = server.log.read_text().split("\n")[since:]
    events = [json.loads(line) for line in lines if '"event":"batch"' in line]
    return [(int(e["queries"]), e["compute_ms"] / 1e3) for e in events if not e["stopped"]]


def log_length(server):
    return server.log.read_text().count("\n")


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else None


def theil_sen(points):
    """The median of the slopes between all pairs of (x, y): a few outliers do not move it."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1:] if b[0] > a[0]]
    return statistics.median(slopes) if slopes else 0.0
