"""Law 9: nothing compiles inside a request."""

import numba
import pytest
from numba.core import event

from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import Reply, ReplyKind
from tests.kit.chats import ANN, BEN, CAT, SECOND_MS, say
from tests.kit.rooms import Room

TALK = [
    say(f"m{n:03}", (ANN, BEN, CAT)[n % 3], f"line {n} 关于预热 and kernels", (300 - n) * SECOND_MS)
    for n in range(300)
]


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT is set")
def test_no_build_of_any_profile_compiles():
    """Asked with and without a reply, a threshold that nothing reaches, words old and new."""
    room = Room(TALK)
    edge = Reply("m100", ReplyKind.QUOTE)
    with event.install_recorder("numba:compile") as compiled:
        for profile in PROFILES:
            for question in ("what was line 7 about?", "预热是什么", "?"):
                for reply in (None, edge):
                    room.build_now(question, ANN, profile=profile, reply=reply, explain=True)
        assert compiled.buffer == []
        numba.njit(lambda one: one + 1)(1)
        assert compiled.buffer  # it would have been heard
