"""A plain question picked by kernels is picked as step by step, in talks longer than the window (`context.direct`).

`test_joining.py` holds whole answers to the same bytes, in short talks and whatever is asked. Here the talk has older
rows to look for and a history to recall from, and it is told whether the direct way was gone.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from backscroll.v1 import context_pb2 as pb
from backscroll_scoring.link_columns import WINDOW
from backscroll_sidecar.channels import view
from backscroll_sidecar.context import builder, direct, picking
from backscroll_sidecar.context.choice import Choice
from backscroll_sidecar.context.model import BuildRequest, Overrides
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import Author
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.ports import Comparison, Similarities
from backscroll_sidecar.strategies import BUILTIN, NOTHING
from tests.kit.chats import ANN, BEN, BOT, CAT, DAY_MS, HOUR_MS, KEY, NOON_MS, say
from tests.kit.rooms import Room
from tests.property.test_joining import CODEC, JoinedContext, encoded

SUBJECTS = (
    "train", "cat", "fish", "printer", "Lisbon", "umbrella", "build", "step", "kitten", "猫", "里斯本", "旅行",
)  # fmt: skip
QUESTIONS = (
    "which train was it?", "Ben: try the printer again", "what did we say about Lisbon?", "thanks, that fixed it", "ok",
    "Dan: does it build now?",
    "when did Cat lose the umbrella?", "里斯本的旅行是什么时候？", "@bot who has a kitten", "the build fails on step 7",
)  # fmt: skip
TWO = Author("u4", "Dan"), Author("u5", "Eve")


class Meaning:
    """The semantic source, as far as long memory asks it: similarities by lot, some rows without a vector."""

    name = "semantic"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def gather(self, query):
        return NOTHING

    async def compare(self, query) -> Comparison | None:
        if self._seed % 5 == 0:
            return None
        rng = np.random.default_rng(self._seed)
        known = rng.random(query.end) < 0.9
        values = np.where(known, rng.uniform(-0.2, 0.9, query.end), np.nan).astype(np.float32)
        found = Similarities(values, int(known.sum()), exhaustive=self._seed % 3 > 0)
        return Comparison(1.0 if self._seed % 2 else 1e3, lambda: found)


@dataclass
class Told:
    """Which ways were gone."""

    near: int = 0
    far: int = 0


def a_talk(seed: int, count: int) -> list:
    """Lines of some days ago, then a talk at noon; some repeat each other, call or mention somebody, or are blank."""
    rng = random.Random(seed)
    blank_share = rng.choice((0.0, 0.02, 0.3))
    out = []
    for n in range(count):
        is_old = n < count - WINDOW - rng.choice((0, 0, 8))
        author = rng.choice((ANN, BEN, CAT, *TWO) if is_old else (BEN, CAT, BOT))
        words = " ".join(rng.choices(SUBJECTS, k=rng.randint(1, 7)))
        text = rng.choice((words, f"Ann: {words}", f"{words}?", "we lost the umbrella in Lisbon"))
        ago_ms = (9 * DAY_MS if is_old else 20 * 60_000) - 5_000 * n
        text = " " if rng.random() < blank_share else text
        mentions = (rng.choice((ANN, BEN)).id,) if rng.random() < 0.1 else ()
        out.append(say(f"m{n}", author, text, ago_ms, mentions=mentions))
    return out


@settings(max_examples=60)
@example(
    0, 30, "Dan: does it build now?", BEN, 0, None, None, "", 100_000
)  # others' older rows alone
@given(
    st.integers(0, 10**6),
    st.integers(0, 60),
    st.sampled_from(QUESTIONS),
    st.sampled_from([ANN, BEN, TWO[0], Author("new", "New"), None]),
    st.sampled_from([0, 0, HOUR_MS, 9 * DAY_MS, -3_000]),
    st.sampled_from([None, 1, 30, 60]),
    st.sampled_from([None, 0, 5]),
    st.sampled_from(["", "", "m101", "m99", "not there"]),
    st.sampled_from([100_000, None, 400]),
)
def test_both_ways_pick_the_same(
    seed, longer, question, asker, late_ms, most, floor, trigger, token_budget
):
    """Laws 2 and 7: candidates, order, scores, sources and degradations, near and far; and the direct way was gone."""
    request = BuildRequest(
        question=question, asker=asker, key=KEY, profile="balanced", trigger_message_id=trigger,
        asked_at_ms=NOON_MS + late_ms, self_ids=("bot",), token_budget=token_budget,
        overrides=Overrides(max_context=most, recent_floor=floor), payload_formats=("openai_chat",),
    )  # fmt: skip
    told = asyncio.run(asked_both_ways(seed, longer, request))
    assert told.near + told.far > 0
    event("far" if told.far else "near")


async def asked_both_ways(seed: int, longer: int, request: BuildRequest) -> Told:
    room = Room(a_talk(seed, WINDOW + longer), codec=WireCodec(), own=(Meaning(seed),))
    await room.channels.view(KEY)
    told = Told()

    def near(*args):
        told.near += 1
        return direct.chosen_near(*args)

    def far(*args):
        told.far += 1
        return direct.chosen_far(*args)

    with (
        patch.object(picking, "chosen_near", near),
        patch.object(picking, "chosen_far", far),
        patch.object(picking, "log") as picked,
        patch.object(builder, "log") as joined,
    ):
        expected = encoded(await room.builder.build(request))
        assert told == Told()
        step_by_step, directly = [
            (await room.builder._begin(request, joins=joins)).choice for joins in (False, True)
        ]
        assert candidates(step_by_step) == candidates(directly)
        for _ in range(8):  # a build puts sixteen lines on their page
            answer = await room.builder.answer(request, CODEC)
            assert encoded(answer) == expected
            if isinstance(answer, JoinedContext):
                break
        if request.token_budget == 100_000:
            assert isinstance(answer, JoinedContext)
        explained = encoded(await room.builder.build(replace(request, explain=True)))
        assert explained.items == expected.items
    assert not picked.warning.called
    assert not joined.warning.called
    semantic = any(item.category == pb.CATEGORY_SEMANTIC for item in expected.items)
    event("references" if semantic else "no references")
    return told


def candidates(choice: Choice) -> list[tuple]:
    """Every candidate, selected or not: where it came from, and its place and score if it was selected."""
    ranks = {place: rank for rank, place in enumerate(choice.chosen.tolist())}
    return [
        (
            row,
            {name for i, name in enumerate(choice.sources) if kinds >> i & 1},
            is_reference,
            ranks.get(place),
            place in ranks and score,
        )
        for place, (row, kinds, is_reference, score) in enumerate(
            zip(
                choice.rows.tolist(), choice.kinds.tolist(), choice.references.tolist(),
                choice.scores.tolist(), strict=True,
            )
        )
    ]  # fmt: skip


def test_what_is_picked_directly():
    """Of the profiles that ship it is the default one, and no longer so where something else is asked of it."""
    suited = {name for name, profile in PROFILES.items() if direct.suits(profile, BUILTIN)}
    assert suited == {"balanced"}
    balanced = PROFILES["balanced"]
    for other in (
        {"recent_limit": WINDOW - 1},
        {"recent_limit": WINDOW + 1},
        {"least_context": 0},
        {"collapse_duplicates": True},
        {"diversity": "mmr"},
        {"follow_inferred": True},
        {"references": ("recent",)},
        {"sources": ("thread", "preferences")},
        {"sources": (*balanced.sources, "graph")},
    ):
        assert not direct.suits(replace(balanced, **other), BUILTIN), other
    assert not direct.suits(balanced, {**BUILTIN, "recent": Meaning(1)})


@given(st.integers(0, 10**6), st.sampled_from(QUESTIONS))
@settings(max_examples=20)
def test_few_blank_lines_and_many_are_passed_over_alike(seed, question):
    """Few are passed over one by one; a view with more of them has its states looked at."""
    request = BuildRequest(
        question=question, asker=BEN, key=KEY, profile="balanced", asked_at_ms=NOON_MS, token_budget=100_000,
    )  # fmt: skip
    lines = a_talk(seed, WINDOW + 30)
    lines[-1] = say("blank", BEN, "\n", 4_000)

    def answer() -> list[tuple[str, float]]:
        built = asyncio.run(Room(lines, codec=WireCodec()).builder.build(request))
        return [(item.message.id, item.score) for item in encoded(built).items]

    few = answer()
    with patch.object(view, "MOST_BLANK", 0):
        assert answer() == few
