"""The nine metrics of a whole server, scraped: each moved by a fixture whose values are worked out by hand."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from backscroll import AsyncClient, Message, Overrides
from backscroll_sidecar.server import serve_metrics
from backscroll_sidecar.strategies import Empty, StrategyQuery
from tests.kit.history import NOW_MS, FakeClock
from tests.kit.scraped import scrape
from tests.kit.served import running

HOUR_MS = 3_600_000
NINE = (
    "avg_context_build_time_ms", "context_cache_hit_rate", "avg_relevance_score", "avg_context_message_count",
    "token_savings_rate", "contexts_built_per_hour", "unique_groups_served", "user_satisfaction_score",
    "context_effectiveness_rate",
)  # fmt: skip
TALK = [
    Message(f"m{n}", "ann", "one two three four five six seven eight", NOW_MS + n) for n in range(8)
]
TALK_TOKENS = 9  # of each, with the end of the line
REPLIES = [
    Message("p", "ben", "parent line", NOW_MS),  # 3 tokens
    Message("b", "cat", "brother line", NOW_MS, reply_to="p"),  # 4 tokens
    Message("x", "cat", "lone", NOW_MS),  # 3 tokens
]


class Waits:
    """A source of the operator's own that has nothing and takes 250 ms."""

    name = "waits"
    clock = FakeClock()

    def gather(self, query: StrategyQuery) -> Empty:
        self.clock.at_ms += 250
        return Empty()


class Served:
    def __init__(self, app, client, address) -> None:
        self.app, self.client, self.clock, self.address = app, client, Waits.clock, address

    async def read(self) -> dict[tuple[str, ...], float]:
        """Values of the nine by name and labels, whole numbers made of tiny errors."""
        found = await asyncio.to_thread(scrape, self.address)
        return {
            (name.removeprefix("backscroll_"), *reversed(labels)): pytest.approx(value)
            for (name, *labels), value in found.items()  # labels come by name: period, profile
            if name.removeprefix("backscroll_") in NINE
        }

    async def ask(self, channel: str, profile: str, **fields):
        return await self.client.build_context(
            channel, "and now?", asker="dan", asked_at=NOW_MS + 8, profile=profile, **fields
        )


@asynccontextmanager
async def served():
    Waits.clock = clock = FakeClock()
    own = (f"{__name__}:Waits",)
    async with running(clock=clock, strategies=own) as (server, app):
        metrics = serve_metrics(server, "127.0.0.1:0")
        try:
            async with AsyncClient(server.addresses[0]) as client:
                yield Served(app, client, metrics.address)
        finally:
            await asyncio.to_thread(metrics.close)


@pytest.mark.row("S5-33", "S5-34", "S5-35", "S5-36", "S5-54", "S5-60")
async def test_the_nine_by_hand():
    """One scrape has all of them, each since the start and of the last hour; before there is data there is none."""
    async with served() as one:
        assert await one.read() == {}
        await one.client.append("talk", TALK)
        await one.client.append("replies", REPLIES)

        # 5 of 8 messages, 250 ms. The window has all 8: 5 x 9 tokens of 8 x 9.
        built = await one.ask("talk", "room", overrides=Overrides(max_context=5))
        assert len(built.items) == 5
        first_hit = built.raw.diagnostics.cache_hit
        # The parent .4 + .2, its other answer .24 + .2; who said neither .2, below the threshold. 7 tokens of 10, 0 ms.
        built = await one.ask("replies", "classic", reply="p")
        assert [item.message.id for item in built.items] == ["p", "b"]
        second_hit = built.raw.diagnostics.cache_hit
        # Nothing, 250 ms.
        await one.ask("unknown", "room")
        for said in (
            {"success": 1.0},
            {"success": 0.5},
            {"success": 0.0, "text": "no"},
            {"rating": 4},
            {"text": "hm"},  # nobody can tell how well it served
        ):
            await one.client.record_feedback(built.id, user_id="dan", **said)

        hour = {
            ("avg_context_build_time_ms",): 500 / 3,
            ("context_cache_hit_rate",): (first_hit + second_hit) / 3,
            ("avg_relevance_score", "classic"): (0.6 + 0.44) / 2,
            ("avg_context_message_count",): (5 + 2 + 0) / 3,
            ("token_savings_rate",): 1 - (45 + 7) / (72 + 10),
            ("contexts_built_per_hour",): 3,
            ("unique_groups_served",): 3,
            ("user_satisfaction_score",): (1 + 0.5 + 0 + 0.75) / 4,
            ("context_effectiveness_rate",): 3 / 4,
        }
        assert await one.read() == {
            (*name, period): value for name, value in hour.items() for period in ("start", "hour")
        }

        one.clock.at_ms += 2 * HOUR_MS - 500  # two hours after the first build began
        late = await one.read()
        start = {
            name: value for name, value in hour.items() if name != ("contexts_built_per_hour",)
        }
        start["contexts_built_per_hour",] = 3 / 2
        assert late == {(*name, "start"): value for name, value in start.items()}

        built = await one.ask("talk", "room")  # all 8 of the window, 250 ms
        assert built.raw.diagnostics.cache_hit
        await one.client.record_feedback(built.id, success=0.25)
        last = await one.read()
        of_hour = {name[:-1]: value for name, value in last.items() if name[-1] == "hour"}
        assert of_hour == {
            ("avg_context_build_time_ms",): 250,
            ("context_cache_hit_rate",): 1,
            ("avg_context_message_count",): 8,
            ("token_savings_rate",): 0,
            ("contexts_built_per_hour",): 1,
            ("unique_groups_served",): 1,
            ("user_satisfaction_score",): 0.25,
            ("context_effectiveness_rate",): 0,
        }
        assert last["avg_context_build_time_ms", "start"] == 750 / 4
        assert last["context_cache_hit_rate", "start"] == (first_hit + second_hit + 1) / 4
        assert last["token_savings_rate", "start"] == 1 - (45 + 7 + 72) / (72 + 10 + 72)
        assert last["unique_groups_served", "start"] == 3
        assert last["context_effectiveness_rate", "start"] == 3 / 5


@pytest.mark.row("S5-34")
async def test_only_scores_of_relevance_are_averaged():
    """The newest messages of a fallback, or of a profile that ranks nothing, have no score to be averaged."""
    async with served() as one:
        await one.client.append("talk", TALK)
        await one.ask("talk", "room")
        await one.ask("talk", "balanced", overrides=Overrides(use_intelligent_context=False))
        assert {name for name, *_ in await one.read()}.isdisjoint({"avg_relevance_score"})
        built = await one.ask("talk", "balanced", explain=True)
        scores = [c.score for c in built.explanation.candidates if c.rank]
        found = await one.read()
        assert found["avg_relevance_score", "balanced", "start"] == sum(scores) / len(scores)


@pytest.mark.row("S5-34")
async def test_the_window_is_what_would_fit():
    """Pasting the window ends where the budget does: more was never to be had. Recalled messages are not in it."""
    async with served() as one:
        await one.client.append("talk", TALK)
        await one.client.recall_message("talk", "m7")
        whole = await one.ask("talk", "room", overrides=Overrides(max_context=1))
        fixed = whole.tokens.total - whole.tokens.recent
        for room, fits in ((7 * TALK_TOKENS, 7), (3 * TALK_TOKENS + 8, 3)):
            async with served() as other:
                await other.client.append("talk", TALK)
                await other.client.recall_message("talk", "m7")
                await other.ask(
                    "talk", "room", overrides=Overrides(max_context=1), token_budget=fixed + room
                )
                found = await other.read()
            assert found["token_savings_rate", "start"] == 1 - 1 / fits


@pytest.mark.row("S5-35")
async def test_a_context_without_a_channel_is_of_no_group():
    async with served() as one:
        await one.ask("", "room")
        told = await one.read()
        assert told["contexts_built_per_hour", "hour"] == 1
        assert not [name for name in told if name[0] == "unique_groups_served"]


@pytest.mark.row("S5-20", "S5-60")
async def test_the_rate_of_known_texts_by_hand():
    """Since the start, and of the last hour alone; where nothing was asked there is none."""
    name = "backscroll_feature_cache_hit_rate"

    async def rates(one) -> dict[str, float]:
        found = await asyncio.to_thread(scrape, one.address)
        return {labels[0]: value for (of, *labels), value in found.items() if of == name}

    async with served() as one:
        assert await rates(one) == {}
        said = ["one", "two", "three", "one"]  # 1 of 4 known
        await one.client.append(
            "talk", [Message(f"m{n}", "ann", text, NOW_MS + n) for n, text in enumerate(said)]
        )
        assert await rates(one) == {"start": 1 / 4, "hour": 1 / 4}
        one.clock.at_ms += 2 * HOUR_MS
        assert await rates(one) == {"start": 1 / 4}
        long = "long " * 200  # never known, however often it is said
        said = ["two", "three", long, long, "four"]  # 2 of 5 known, 3 of 9 with those before
        await one.client.append(
            "talk", [Message(f"n{n}", "ann", text, NOW_MS + n) for n, text in enumerate(said)]
        )
        assert await rates(one) == {"start": 3 / 9, "hour": 2 / 5}


@pytest.mark.row("S5-60")
async def test_calls_that_were_not_answered_in_time_are_told_by_method():
    async with running() as (server, _), AsyncClient(server.addresses[0]) as client:
        assert await client.get_metrics("backscroll_missed_deadlines") == []
        server.missed_deadlines.update({"Chat": 1, "BuildContext": 2})
        told = await client.get_metrics("backscroll_missed_deadlines")
        assert [(one.labels["method"], one.value) for one in told] == [
            ("BuildContext", 2), ("Chat", 1),
        ]  # fmt: skip
