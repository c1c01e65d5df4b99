"""What the tests of calls share: messages, and patience."""

import time

from backscroll import Message

MIB = 2**20


def lines(count, text="line"):
    return [Message(f"m{n}", "ann", f"{text} {n}", 1_795_132_800_000 + n) for n in range(count)]


def wait_until(condition, timeout_s=60.0):
    end = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
