"""Which lines of a channel are the asker's talk with the bot, by what the reply model says of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.domain import Author
from backscroll_sidecar.strategies.talk import MOST_LINES, TALK_PAUSE_MS, talk_with_bot
from tests.kit.chats import (
    ANN,
    BEN,
    BOT,
    KEY,
    NOON_MS,
    SECOND_MS,
    PlainCodec,
    say,
    stored_in_order,
)

APART_MS = 10 * SECOND_MS


def found(said, *, asker=ANN, self_ids=(), later_ms=0):
    """The rows and weights of a talk of (author, probability) lines, 10 s apart."""
    lines = [
        say(f"m{n}", author, f"line {n}", (len(said) - n) * APART_MS)
        for n, (author, _) in enumerate(said)
    ]
    view = HotChannel(KEY, PlainCodec(), stored_in_order(lines)).view()
    replies = SimpleNamespace(
        rows=np.arange(len(said), dtype=np.int32), together=np.array([p for _, p in said])
    )
    return talk_with_bot(view, replies, asker.id, self_ids, NOON_MS + later_ms)


def test_asker_and_bot_in_turn():
    """Newest first, and each counts less than the next newer one."""
    talk = found([(ANN, 0.9), (BOT, 0.9), (ANN, 0.9), (BOT, 0.9)])
    assert talk.with_bot
    assert talk.rows.tolist() == [3, 2, 1, 0]
    assert (np.diff(talk.weights) < 0).all()
    assert 0.0 < talk.weights[-1] < talk.weights[0] <= 1.0


def test_the_bots_lines_to_others_and_other_peoples_lines_do_not_count():
    talk = found([(ANN, 0.8), (BOT, 0.9), (BEN, 0.9), (BOT, 0.4), (ANN, 0.8), (BOT, 0.95)])
    assert talk.rows.tolist() == [5, 4, 1, 0]


def test_what_the_bot_answered_is_as_sure_as_its_answer():
    """A first line that seems to start something else is the talk's all the same."""
    talk = found([(ANN, 0.2), (BOT, 0.9)])
    assert talk.rows.tolist() == [1, 0]
    assert found([(ANN, 0.2), (BOT, 0.4)]).rows.tolist() == []


@pytest.mark.parametrize(
    "said",
    [
        [],
        [(ANN, 0.9), (BEN, 0.9)],
        [(BOT, 0.9), (BOT, 0.9)],  # it speaks to nobody
        [(BEN, 0.9), (BOT, 0.9)],
        [(ANN, 0.9), (BOT, 0.9), *[(ANN, 0.9)] * 3],  # it has long been silent
        [(ANN, 0.9), (BOT, 0.3), (ANN, 0.9)],
    ],
)
def test_no_talk_with_the_bot(said):
    talk = found(said)
    assert not talk.with_bot
    assert not len(talk.rows)


def test_an_unknown_asker_has_no_talk():
    assert not found([(ANN, 0.9), (BOT, 0.9)], asker=Author("stranger")).with_bot


def test_a_bot_is_known_by_its_id_too():
    helper = Author("u7", "Helper")
    said = [(ANN, 0.9), (helper, 0.9)]
    assert not found(said).with_bot
    assert found(said, self_ids=("u7",)).with_bot


def test_a_pause_ends_it_and_leaves_who_talked():
    said = [(ANN, 0.9), (BOT, 0.9)]
    before = found(said, later_ms=TALK_PAUSE_MS - APART_MS - 1)
    after = found(said, later_ms=TALK_PAUSE_MS)
    assert len(before.rows) == 2
    assert after.with_bot
    assert not len(after.rows)


def test_no_more_than_so_many_lines():
    assert len(found([(ANN, 0.9), (BOT, 0.9)] * MOST_LINES).rows) == MOST_LINES
