"""A worker of the Go package envs/gym: it holds some environments and answers requests over a pipe.

A message is an 8-byte header (uint32 length of the body, one byte that says what it is, the bytes "gym") and a body of
raw little-endian arrays or of JSON. Requests and answers alternate. The answer "E" is a failure, described in JSON.
"""

import os
import sys

# Whatever an environment prints must not get between the messages: standard output goes to standard error from here on.
REQUESTS, ANSWERS = os.dup(0), os.dup(1)
_null = os.open(os.devnull, os.O_RDONLY)
os.dup2(_null, 0)
os.close(_null)
os.dup2(2, 1)

import base64
import faulthandler
import importlib
import json
import select
import signal
import struct
import time
import traceback

if hasattr(signal, "SIGUSR1"):
    faulthandler.register(signal.SIGUSR1, all_threads=False)  # asked where it hangs, the worker says so

TAG = b"gym"
READ = getattr(os, "readv", None)  # reads without a copy, where the system has it


class Refused(Exception):
    """A request that cannot be met; environments stay usable, and those before the one concerned have obeyed it."""


class Gone(Exception):
    """Nobody asks any more."""


class Missing(Exception):
    """A Python package that is not installed."""


class NoROM(Exception):
    """A file of a console's game that is not there, or is another."""


class Failure(Exception):
    """Something went wrong in one environment."""

    def __init__(self, slot, doing):
        super().__init__(doing)
        self.slot, self.doing = slot, doing


def send(kind, *parts):
    body = b"".join(parts)
    write(memoryview(struct.pack("<IB3s", len(body), ord(kind), TAG) + body))


def write(view):
    while view:
        view = view[os.write(ANSWERS, view) :]


def send_json(kind, value, *arrays):
    text = json.dumps(value).encode()
    send(kind, struct.pack("<I", len(text)), text, *arrays)


class Spinner:
    """Waits for a request by polling for it, for a while, before the worker sleeps until it comes.

    spin.go says why and how.
    """

    LONGEST, DISTURBED, MOST_SKIP, RECOVERY = 5e-3, 200e-6, 1 << 10, 1 / 16  # s, s, requests, share

    def __init__(self, file):
        poll = select.poll()
        poll.register(file, select.POLLIN)
        self.readable = poll.poll
        self.skip, self.pause = 0, 1

    def wait(self):
        readable = self.readable
        if self.skip >= 1:
            self.skip -= 1
            return
        if readable(0):
            return
        start = last = time.perf_counter()
        while True:
            os.sched_yield()
            done, now = readable(0), time.perf_counter()
            if now - last > self.DISTURBED or now - start > self.LONGEST:
                self.skip = max(self.pause, 1)
                self.pause = min(2 * self.skip, self.MOST_SKIP)
                return
            if done:
                self.pause -= self.pause * self.RECOVERY
                return
            last = now


class Requests:
    """Reads requests into one buffer; a step's request arrives in one system call."""

    def __init__(self):
        self.set(bytearray(1 << 16))
        self.spinner = Spinner(REQUESTS) if sys.platform == "linux" else None

    def set(self, buffer):
        self.buffer, self.view = buffer, memoryview(buffer)
        self.whole = [self.view]

    def next(self):
        """Returns the kind (a number) and the length of the next request, whose body starts at byte 8 of the buffer."""
        if self.spinner:
            self.spinner.wait()
        have = READ(REQUESTS, self.whole) if READ else self.fill(0)
        if have == 0:
            raise Gone
        while have < 8:
            have += self.fill(have)
        length = int.from_bytes(self.view[:4], "little")
        if 8 + length > len(self.buffer):
            grown = bytearray(8 + length)
            grown[:have] = self.view[:have]
            self.set(grown)
        while have < 8 + length:
            have += self.fill(have)
        return self.buffer[4], length

    def fill(self, have):
        part = os.read(REQUESTS, len(self.buffer) - have)
        if not part:
            raise Gone
        self.view[have : have + len(part)] = part
        return len(part)

    def body(self, length):
        return self.view[8 : 8 + length]

    def json(self, length):
        return json.loads(bytes(self.body(length)))
