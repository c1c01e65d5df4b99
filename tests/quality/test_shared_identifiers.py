"""An old line with the URL, identifier or error text of a question comes first, whatever was said since.

The lines stand far beyond the window of the reply model, in real chats of both languages. The question is asked in the
middle of the talk, by one of the last speakers.
"""

import json
from pathlib import Path

import pytest

from backscroll import Author, Client
from backscroll_bench.quality import LiveServer, find_set, read_set, shipped_sets
from backscroll_bench.quality.data import Line
from backscroll_sidecar.cli.process import server

pytestmark = pytest.mark.slow

PAIRS = Path(__file__).parents[1] / "data" / "shared_identifiers.jsonl"
SET_OF = {"en": "irc", "zh": "kdconv"}
BEGIN_MS = 1_700_000_000_000
SINCE, APART, STEP_MS = 350, 7, 20_000
"""Lines since the last old one, lines between two old ones, time between two lines."""
LEAST = 0.95


def pairs(lang):
    read = map(json.loads, PAIRS.read_text(encoding="utf-8").splitlines())
    return [pair for pair in read if pair["lang"] == lang]


def background(lang):
    """The lines of one chat of a language that ships."""
    with shipped_sets() as names:
        return next(iter(read_set(*find_set(names[SET_OF[lang]])).groups.values()))


def with_old_lines(lines, old):
    """The chat with these lines in it, said by its people."""
    texts = [(line.user_id, line.name, line.content) for line in lines]
    assert len(texts) > SINCE + APART * len(old)
    for i, text in enumerate(old):
        at = len(texts) - SINCE - APART * i
        user, name, _ = texts[at - 3]
        texts.insert(at, (user, name, text))
    return [
        Line(f"m{i}", "", user, name, text, BEGIN_MS + i * STEP_MS)
        for i, (user, name, text) in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def running(tmp_path_factory, pytestconfig):
    folder = tmp_path_factory.mktemp("server")
    flags = ["--database", str(folder / "h.db"), "--state-dir", str(folder)]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NUMBA_CACHE_DIR", str(pytestconfig.cache.mkdir("kernels")))
        with server([*flags, "--durability", "normal"], folder) as one:
            yield one


@pytest.mark.parametrize("lang", SET_OF)
def test_an_old_line_with_the_same_identifier_comes_first(running, lang):
    old = pairs(lang)
    lines = with_old_lines(background(lang), [pair["old"] for pair in old])
    id_of = {line.content: line.message_id for line in lines}
    missed = []
    with Client(running.address, timeout_s=60.0) as client:
        LiveServer(client).hear(lang, lines)
        for i, pair in enumerate(old):
            asker = lines[-2 - i % 6]
            context = client.build_context(
                lang, pair["question"], asker=Author(asker.user_id, asker.name), asked_at=lines[-1].timestamp + STEP_MS,
            )  # fmt: skip
            ranks = {item.message.id: item.rank for item in context.items}
            rank = ranks.get(id_of[pair["old"]])
            if rank != min(ranks.values()):
                missed.append((pair["question"], rank))
    assert len(old) == 33
    assert len(missed) <= (1 - LEAST) * len(old), missed
