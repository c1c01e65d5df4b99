"""When compactions begin by themselves."""

import asyncio
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.domain import ChannelKey, MessageState
from backscroll_sidecar.summaries.compaction import CompactionSettings, Conversation, Missing
from backscroll_sidecar.summaries.cut_points import LINE_TOKENS
from backscroll_sidecar.summaries.service import Summaries

KEY = ChannelKey("default", "room")


class CountingCompactor:
    """Says what is missing, and when it was asked to compact."""

    def __init__(self, threshold: int) -> None:
        self.threshold, self.behind, self.came = threshold, 0.0, 0.0
        self.begun: list[float] = []

    async def missing(self, _, __=None):
        return Missing(self.threshold - self.behind, 10_000)

    async def compact(self, _, **__):
        self.begun.append(self.came)
        self.behind = 0.8 * self.threshold  # little came of it


@given(sizes=st.lists(st.integers(1, 30_000), min_size=1, max_size=200))
@settings(max_examples=50, deadline=None)
def test_the_next_one_waits_for_a_quarter_of_the_threshold(sizes):
    """However little one frees, and however large one message is."""
    threshold = 8_000
    rule = CompactionSettings(
        is_automatic=True, threshold_tokens=threshold, threshold_messages=40_000
    )

    async def tried() -> CountingCompactor:
        compactor = CountingCompactor(threshold)
        summaries = Summaries(compactor, rule)  # type: ignore[arg-type]
        for size in sizes:
            stored = SimpleNamespace(
                analysis=SimpleNamespace(token_count=size),
                state=MessageState.LIVE,
                revision=0,
                seq=1,
                message=SimpleNamespace(thread_id=""),
            )
            counted = rule.counted(size + LINE_TOKENS)
            compactor.came += counted
            compactor.behind += counted
            summaries.publish(
                KEY,
                SimpleNamespace(stored=[stored], records=(), is_foreign=False, is_erasure=False),
            )  # type: ignore[arg-type]
            for _ in range(4):
                await asyncio.sleep(0)
        await summaries.close()
        return compactor

    compactor = asyncio.run(tried())
    gaps = [b - a for a, b in zip(compactor.begun, compactor.begun[1:], strict=False)]
    assert all(gap >= 0.25 * threshold for gap in gaps)
    assert compactor.begun or compactor.came < 1.25 * threshold


def test_a_thread_is_compacted_by_itself_and_nothing_begins_behind_the_end():
    """Each conversation by what is said in it."""

    class Noting(CountingCompactor):
        def __init__(self) -> None:
            super().__init__(8_000)
            self.seen: list[str] = []

        async def missing(self, conversation, _=None):
            self.seen.append(conversation.thread_id)
            return Missing(1, 1)

    async def tried() -> list[str]:
        compactor = Noting()
        summaries = Summaries(compactor, CompactionSettings(True, 8_000, 40))  # type: ignore[arg-type]

        def say(count: int, thread_id: str) -> None:
            stored = [
                SimpleNamespace(
                    analysis=SimpleNamespace(token_count=10), state=MessageState.LIVE, revision=0,
                    seq=1, message=SimpleNamespace(thread_id=thread_id),
                )
                for _ in range(count)
            ]  # fmt: skip
            summaries.publish(
                KEY, SimpleNamespace(stored=stored, records=(), is_foreign=False, is_erasure=False)
            )  # type: ignore[arg-type]

        say(6, "t")
        say(5, "")
        await asyncio.sleep(0.01)
        assert compactor.seen == [""]
        say(5, "t")
        await asyncio.sleep(0.01)
        assert sorted(compactor.seen) == ["", "", "t"]
        await summaries.close()
        say(1_000, "t")
        await asyncio.sleep(0.01)
        return compactor.seen

    assert len(asyncio.run(tried())) == 3


def test_what_was_read_before_a_second_change_is_not_kept():
    """Two reads and two erasures, each ending behind the other: the last read is of a state that is gone."""

    class Slow(CountingCompactor):
        def __init__(self) -> None:
            super().__init__(8_000)
            self.gates = [asyncio.Event() for _ in range(2)]
            self.reads = 0

        async def newest(self, _):
            gate = self.gates[self.reads]
            self.reads += 1
            await gate.wait()
            return ("old",)

    async def tried() -> bool:
        compactor = Slow()
        summaries = Summaries(compactor, CompactionSettings())  # type: ignore[arg-type]
        erased = SimpleNamespace(stored=[], records=(), is_foreign=False, is_erasure=True)
        first = asyncio.create_task(summaries.read(Conversation(KEY)))
        await asyncio.sleep(0)
        summaries.publish(KEY, erased)  # type: ignore[arg-type]
        second = asyncio.create_task(summaries.read(Conversation(KEY)))
        await asyncio.sleep(0)
        compactor.gates[0].set()
        await first
        summaries.publish(KEY, erased)  # type: ignore[arg-type]
        compactor.gates[1].set()
        await second
        return summaries.is_known(Conversation(KEY))

    assert not asyncio.run(tried())
