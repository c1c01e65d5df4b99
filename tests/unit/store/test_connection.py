"""Threads that own a connection (law 9)."""

import sqlite3
import sys

import pytest

from backscroll_sidecar.concurrency.background import SWITCH_S
from backscroll_sidecar.store.sqlite.connection import OwnedConnection

pytestmark = pytest.mark.anyio


async def test_work_on_a_connection_gives_the_interpreter_up_soon_and_only_while_it_runs() -> None:
    usual_s = sys.getswitchinterval()
    owned = OwnedConnection("test", lambda: sqlite3.connect(":memory:"))
    try:
        assert await owned.run(lambda _: sys.getswitchinterval()) <= SWITCH_S < usual_s
        assert sys.getswitchinterval() == usual_s
        assert await owned.run(lambda _: sys.getswitchinterval(), is_short=True) == usual_s
        with pytest.raises(ZeroDivisionError):
            await owned.run(lambda _: 1 / 0)
        assert sys.getswitchinterval() == usual_s
    finally:
        await owned.close()
