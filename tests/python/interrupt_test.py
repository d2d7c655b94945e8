#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals while a look-up waits for servers that never answer: Ctrl-C ends it at once and leaves nothing open, a handler that
raises nothing lets it go on."""
import json
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from support import Served, pirx

PROGRAM = """
import os, signal, sys, time
sys.path.insert(0, {package!r})
import pirx

class Alarm(Exception):
    pass

def ring(number, frame):
    raise Alarm

signal.signal(signal.SIGALRM, ring)
def leave(number, frame):
    raise GeneratorExit

signal.signal(signal.SIGUSR2, leave)
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
client = pirx.Client(pirx.Deployment.load({path!r}), deadline=120, believe={believe})
before = len(os.listdir("/proc/self/fd"))
print("looking up", flush=True)
try:
    client.{call}
except (KeyboardInterrupt, GeneratorExit, Alarm) as error:
    print(type(error).__name__, len(os.listdir("/proc/self/fd")) - before, flush=True)
"""


class Interrupts(Served):
    def silenced(self, servers, silent):
        """Sockets that take requests and never answer, and a deployment file in which these are the first servers."""
        content = json.loads(servers.deployment_file.read_text())
        listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(silent)]
        for listener, server in zip(listeners, content["servers"]):
            server["url"] = "http://127.0.0.1:%d" % listener.getsockname()[1]
        path = self.path / "silent.json"
        path.write_text(json.dumps(content))
        return listeners, path

    def run_against(self, servers, call, signals, believe="None", silent=3):
        """Starts a look-up at servers of which some never answer, and sends it signals once they all have the request.
        Gives what the program printed, and how many seconds after the last signal it did."""
        listeners, path = self.silenced(servers, silent)
        text = PROGRAM.format(package=str(next(p for p in sys.path if p.endswith("/python"))), path=str(path), call=call,
                              believe=believe)
        child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(child.stdout.readline(), "looking up\n")
            connections = [listener.accept()[0] for listener in listeners]
            for connection in connections:
                self.assertTrue(connection.recv(1))
            said = []
            for number in signals:
                start = time.monotonic()
                child.send_signal(number)
                said.append(child.stdout.readline().split())
            took = time.monotonic() - start
            # The servers see that the connections have ended.
            for connection in connections:
                connection.settimeout(20)
                try:
                    while connection.recv(1 << 16):
                        pass
                except ConnectionError:
                    pass
                connection.close()
            output, errors = child.communicate(timeout=60)
            self.assertEqual((child.returncode, output, errors), (0, "", ""))
            return said, took
        finally:
            child.kill()
            child.communicate()
            for listener in listeners:
                listener.close()

    def test_ctrl_c(self):
        for servers, call in ((self.by_position, "get(7)"), (self.by_key, "look_up(['key7', 'no'])"),
                              (self.by_key, "get_many(['key7'] * 200)")):
            for believe in ("None", "len"):
                said, took = self.run_against(servers, call, [signal.SIGINT], believe)
                self.assertEqual(said, [["KeyboardInterrupt", "0"]])
                # It takes about 0.1 s; the deadline is 120 s, and the machine may be slow.
                self.assertLess(took, 10)

    def test_a_single_server(self):
        with type(self).start(self.plain, "download") as servers:
            said, _ = self.run_against(servers, "get(7)", [signal.SIGINT], silent=1)
            self.assertEqual(said, [["KeyboardInterrupt", "0"]])

    def test_other_handlers(self):
        said, _ = self.run_against(self.by_position, "get(7)", [signal.SIGUSR1, signal.SIGUSR1, signal.SIGALRM])
        self.assertEqual(said, [["heard"], ["heard"], ["Alarm", "0"]])
        said, _ = self.run_against(self.by_position, "get(7)", [signal.SIGUSR2])
        self.assertEqual(said, [["GeneratorExit", "0"]])

    def test_handlers_as_believe_is_called(self):
        """What they raise is not lost, nor taken for the answer of `believe`."""
        class Alarm(Exception):
            pass

        rung = raised = 0

        def ring(number, frame):
            nonlocal rung
            rung += 1
            raise Alarm

        previous = signal.signal(signal.SIGALRM, ring)
        try:
            with pirx.serve(self.plain, servers=2) as servers, pirx.Client(servers.deployment, believe=lambda _: True) as client:
                for i in range(400):
                    # A look-up takes some milliseconds.
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.00001 * i)
                        client.look_up([4])
                        signal.setitimer(signal.ITIMER_REAL, 0)
                    except Alarm:
                        raised += 1
        finally:
            signal.signal(signal.SIGALRM, previous)
        self.assertEqual(raised, rung)
        self.assertGreater(rung, 0)

    def test_handlers_of_two_signals_at_once(self):
        """What the first one raises ends the look-up, and later look-ups hear signals, too."""
        class Alarm(Exception):
            pass

        def ring(number, frame):
            raise Alarm(number)

        def both():
            for number in numbers:
                signal.pthread_kill(threading.main_thread().ident, number)
            sent.append(True)

        def believe(records):
            sent.clear()
            threading.Timer(0.1, both).start()
            while not sent:
                pass
            for _ in range(9):
                pass  # The first handler runs here.
            return True

        for number in (signal.SIGUSR1, signal.SIGUSR2):
            self.addCleanup(signal.signal, number, signal.signal(number, ring))
        numbers, sent = [signal.SIGUSR1, signal.SIGUSR2], []
        with pirx.serve(self.plain, servers=2) as servers, pirx.Client(servers.deployment, believe=believe) as client:
            self.assertEqual(self.raised(Alarm, client.look_up, [4]), signal.SIGUSR1)
        listeners, path = self.silenced(self.by_position, 3)
        with pirx.Client(pirx.Deployment.load(path), deadline=30) as client:
            for numbers in ([signal.SIGUSR1, signal.SIGUSR2], [signal.SIGUSR2], [signal.SIGUSR1]):
                start = time.monotonic()
                timer = threading.Timer(0.3, both)
                timer.start()
                self.assertEqual(self.raised(Alarm, client.get, 7), numbers[0])
                self.assertLess(time.monotonic() - start, 20)
                timer.join()
        for listener in listeners:
            listener.close()

    def raised(self, kind, call, *arguments):
        with self.assertRaises(kind) as caught:
            call(*arguments)
        return caught.exception.args[0]


if __name__ == "__main__":
    unittest.main()
