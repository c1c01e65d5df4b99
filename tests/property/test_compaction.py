"""N-20: a compaction frees what it should or says why not, whatever the sizes."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import Message
from tests.integration.summaries.test_compact import ROOM, outcome
from tests.kit.chats import NOON_MS
from tests.kit.fake_model import STOP, FakeModel
from tests.kit.served import served

SIZES = st.lists(st.sampled_from([1, 5, 40, 300, 3_000]), min_size=1, max_size=60)


@pytest.mark.row("N-20")
@given(sizes=SIZES, more=SIZES, keep=st.sampled_from([0, 500, 4_000]))
@settings(max_examples=25, deadline=None)
def test_it_frees_enough_or_says_why_not(sizes, more, keep):
    """By one counter; a model is asked only where something may come of it, and never twice for the same."""

    async def tried() -> None:
        model = FakeModel(answer=lambda _: ["## Goal\nnotes", STOP])
        async with served(model=model, compaction_keep_tokens=keep) as (client, _):
            known: dict[str, int] = {}
            for part in (sizes, more):
                first = len(known)
                said = [
                    Message(
                        f"m{first + n}",
                        "u1",
                        f"line {first + n} " + "word " * size,
                        NOON_MS + first + n,
                    )
                    for n, size in enumerate(part)
                ]
                known |= {one.id: size for one, size in zip(said, part, strict=True)}
                await client.append(ROOM, said)
                asked = len(model.requests)
                made = await client.compact(ROOM)
                if outcome(made) == "COMPACTED":
                    gain = max(1_024, -(-made.tokens_before // 10))
                    assert made.tokens_after <= made.tokens_before - gain
                    assert made.first_kept_message_id in known
                    assert len(known) - made.message_count >= 20
                else:
                    assert len(model.requests) == asked
                if outcome(made) == "NO_PROGRESS":
                    kept = list(known)[made.message_count :]
                    assert made.largest_message_id in kept
                asked = len(model.requests)
                again = await client.compact(ROOM)
                assert outcome(again) != "COMPACTED"
                assert len(model.requests) == asked

    asyncio.run(tried())
