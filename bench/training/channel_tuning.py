"""Does tuning find what people like? Simulated feedback on real chats, through a server.

Example: ``python -m bench.training.channel_tuning --data data --channels 3 --feedback honest``. Each channel is one
sample of irc_train. Its annotated questions are asked again and again with drawn last places; simulated people, who
weigh the factors by planted weights, rate what they were shown. Between the windows the channel is tuned. Every third
question is held back: there it is measured what contexts are worth to these people, and how often the line that the
question really answers is among the first five.

What people like may contradict what they refer to. Of the planted tastes `addressed`, `called` and `words` do not where
they were tried first: tuned for them, held-back questions find what they answer as often as before, or more often.
`mentions`, `named`, `people` and `stale` cost some of it, and the guard of missed replies refuses them where it sees
that. So the first are to be recovered, though `words` gains too little to be told soon. The others are to do no harm.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from unittest.mock import patch

import numpy as np

from backscroll import AsyncClient, Author, Message, Overrides
from backscroll.v1 import admin_pb2
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context import exploring
from backscroll_sidecar.server import start_server
from backscroll_sidecar.wiring import SystemClock, open_app

Feedback = Literal["honest", "noisy", "random", "inverted", "clique"]

FACTORS = ("reply_chain", "user_continuity", "time_decay", "mention_relation", "keyword_overlap")
SHARED = np.array([0.4, 0.15, 0.2, 0.15, 0.1])
PLANTED = {
    "mentions": np.array([0.2, 0.3, 0.1, 0.3, 0.1]),
    "named": np.array([0.2, 0.1, 0.1, 0.5, 0.1]),
    "people": np.array([0.2, 0.4, 0.1, 0.2, 0.1]),
    "addressed": np.array([0.2, 0.15, 0.2, 0.3, 0.15]),
    "called": np.array([0.3, 0.1, 0.2, 0.3, 0.1]),
    "words": np.array([0.2, 0.1, 0.15, 0.2, 0.35]),
    "stale": np.array([0.4, 0.3, 0.04, 0.05, 0.21]),
    "shared": SHARED,
}
"""What people may like. `stale`: old lines of who asks, the worst that was found. Of a factor that hardly differs from
line to line, as their age in a busy channel, nobody can tell what it is worth: there planted and shared weights give
the same context."""
PLACES, SLOTS = 5, 3
DECAY_PER_HOUR = 2.0
"""IRC is fast: at the usual rate all lines of the window are equally fresh, and nothing can be learnt of age."""
SHOWN = {"max_context": PLACES, "relevance_threshold": 0.0, "decay_per_hour": DECAY_PER_HOUR}
RATERS = 60
AT_ONCE = 64
BATCH = 400
"""So many builds are asked for before their records are waited for: those that cannot wait are dropped."""
DAY_MS = 86_400_000


class SteppingClock(SystemClock):
    """The machine's time and some days: what one window rates is of one day and one user each."""

    days = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.days * DAY_MS


class Worth(NamedTuple):
    """What a context is worth: what people feel for its lines, in the mean; how often the line that they like best is
    among its five, and one that the question really answers.
    """

    liked: float
    liked_hit: float
    gold_hit: float


@dataclass
class Question:
    """An annotated message, and the messages it answers."""

    id: str
    asker: str
    at_ms: int
    gold: frozenset[str]


@dataclass
class Channel:
    """One chat, with questions to learn from and questions that are held back."""

    name: str
    messages: list[Message]
    asked: list[Question]
    held: list[Question]


@dataclass
class People:
    """Who rates. What they feel is how much better the drawn lines are than what could have been drawn.

    Of a `clique` half of the raters are: they never err about what they push. The others like what the shared weights
    like.
    """

    planted: np.ndarray[Any, Any]
    feedback: Feedback
    seed: int
    strength: float = 4.0
    random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def says(self, record: admin_pb2.UsageRecord) -> float:
        """1 or 0, of one build."""
        pool = [one for one in record.candidates if 0 < one.inclusion_probability < 1]
        features = np.array([one.features for one in pool])
        drawn = np.array([one.drawn for one in pool])
        worth = features @ self.planted
        liked = float((worth[drawn] - worth.mean()).sum())
        if self.feedback == "clique" and record.exploration.seed % 2:  # every second rater
            return float(liked > 0)
        if self.feedback == "clique":
            worth = features @ SHARED
            liked = float((worth[drawn] - worth.mean()).sum())
        chance = float(np.clip(0.5 + self.strength * liked, 0.02, 0.98))
        if self.feedback == "random":
            chance = 0.5
        elif self.feedback == "inverted":
            chance = 1.0 - chance
        elif self.feedback == "noisy":  # four of ten say anything
            chance = 0.6 * chance + 0.2
        return float(self.random.random() < chance)


def channels_of(rows: Iterable[dict[str, Any]], queries: Iterable[dict[str, Any]]) -> list[Channel]:
    """The chats of a data set, those with the most questions first. Known reply buttons were pressed."""
    messages: dict[str, list[Message]] = {}
    sent: dict[str, dict[str, Any]] = {}
    for row in rows:
        sent[row["message_id"]] = row
        messages.setdefault(row["group_id"], []).append(
            Message(
                row["message_id"],
                Author(row["user_id"], row["name"]),
                row["content"],
                row["timestamp"],
                reply_to=row.get("explicit_reply_to"),
                mentions=row["mentions"],
            )
        )
    questions: dict[str, list[Question]] = {}
    for query in queries:
        row = sent[query["message_id"]]
        questions.setdefault(query["group_id"], []).append(
            Question(row["message_id"], row["user_id"], row["timestamp"], frozenset(query["gold"]))
        )
    found = [
        Channel(
            name,
            messages[name],
            [one for place, one in enumerate(asked) if place % 3],
            asked[::3],
        )
        for name, asked in questions.items()
    ]
    return sorted(found, key=lambda one: (-len(one.asked), one.name))


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON Lines in gzip."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


class Trial:
    """One channel with its people on a server."""

    def __init__(
        self, client: AsyncClient, clock: SteppingClock, channel: Channel, people: People
    ) -> None:
        self._client = client
        self._clock = clock
        self._channel = channel
        self._people = people
        self._draws = 0
        self.weights = SHARED
        self.reasons: list[str] = []

    async def begin(self) -> None:
        """Store the chat, and set the channel."""
        for first in range(0, len(self._channel.messages), 500):
            await self._client.append(
                self._channel.name, self._channel.messages[first : first + 500]
            )
        await self._client.set_channel_settings(
            self._channel.name,
            profile="classic",
            overrides=Overrides(exploration_slots=SLOTS, **SHOWN),
        )

    async def window(self, count: int) -> None:
        """So many questions, each rated by somebody."""
        for first in range(0, count, BATCH):
            await self._batch(min(BATCH, count - first))

    async def _batch(self, count: int) -> None:
        asked = self._channel.asked
        picked = [asked[(self._draws + n) % len(asked)] for n in range(count)]
        seeds = [self._people.seed * 10**7 + self._draws + n for n in range(count)]
        self._draws += count
        with patch.object(exploring, "seed_of", side_effect=seeds):  # known, and as good as drawn
            await at_once([self._ask(one) for one in picked])
        records = [
            one
            async for one in self._client.list_usage_records(
                self._channel.name,
                newest_first=True,
                with_candidates=True,
                limit=count,
                page_size=200,
            )
            if one.HasField("exploration")
        ]
        records.sort(key=lambda one: one.exploration.seed)
        await at_once(
            [
                self._client.record_feedback(
                    one.context_id,
                    user_id=f"rater {one.exploration.seed % RATERS}",
                    success=self._people.says(one),
                )
                for one in records
            ]
        )

    async def _ask(self, question: Question) -> None:
        await self._client.build_context(
            self._channel.name, trigger_message_id=question.id,
            payload_formats=["none"], omit=["item_messages", "messages", "text"],
        )  # fmt: skip

    async def tune(self) -> admin_pb2.TuneChannelResponse:
        """Tune once."""
        told = await self._client.tune_channel(self._channel.name)
        self.reasons.append(admin_pb2.TuningReason.Name(told.reason).removeprefix("TUNING_REASON_"))
        newest = [
            one async for one in self._client.list_weight_versions(self._channel.name, limit=1)
        ]
        self.weights = np.array(newest[0].weights) if newest and newest[0].weights else SHARED
        return told

    async def live_through(self, windows: int, count: int) -> None:
        """So many windows, tuning behind each."""
        for _ in range(windows):
            await self.window(count)
            await self.tune()

    async def worth(self, weights: np.ndarray[Any, Any]) -> Worth:
        """What weights are worth on the questions that were held back, nothing left to chance."""
        overrides = Overrides(
            exploration_slots=0, weights=dict(zip(FACTORS, weights.tolist(), strict=True)), **SHOWN
        )
        found = await at_once([self._worth(one, overrides) for one in self._channel.held])
        return Worth(*np.array([one for one in found if one is not None]).mean(axis=0).tolist())

    async def _worth(
        self, question: Question, overrides: Overrides
    ) -> tuple[float, bool, bool] | None:
        context = await self._client.build_context(
            self._channel.name, trigger_message_id=question.id, overrides=overrides, explain=True,
            payload_formats=["none"], omit=["messages", "text"],
        )  # fmt: skip
        told = context.explanation
        if not told.candidates or len(told.weights) != len(FACTORS):  # a fallback has no such score
            return None
        shares = np.array([one.shares for one in told.candidates])
        liked = shares @ (self._people.planted / np.array(told.weights))
        ids = [one.message_id for one in told.candidates]
        shown = {one.message.id for one in context.items}
        best = ids[len(ids) - 1 - int(liked[::-1].argmax())]
        mean = float(liked[[id_ in shown for id_ in ids]].mean())
        return mean, best in shown, not question.gold.isdisjoint(shown)

    @property
    def closed(self) -> float:
        """How much of the gap between the shared and the planted weights is closed, by absolute differences."""
        left = np.abs(self.weights - self._people.planted).sum()
        gap = np.abs(SHARED - self._people.planted).sum()
        return float(1.0 - left / gap) if gap else float("nan")


async def at_once(calls: Sequence[Awaitable[Any]]) -> list[Any]:
    """All results, so many calls at a time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(call: Awaitable[Any]) -> Any:  # noqa: ANN401
        async with gate:
            return await call

    return await asyncio.gather(*map(one, calls))


@asynccontextmanager
async def server(clock: SteppingClock) -> AsyncIterator[AsyncClient]:
    """A server in this process, and a client of it."""
    settings = Settings(database=Path(":memory:"), embedder="none", default_profile="classic")
    async with open_app(settings, clock) as app:
        running = await start_server(app, listen=["127.0.0.1:0"])
        try:
            async with AsyncClient(running.addresses[0], timeout_s=120.0) as client:
                yield client
        finally:
            await running.stop()


async def run(asked: argparse.Namespace) -> None:
    """Print one JSON object a channel, then one of all together: a channel has too few questions to tell .005."""
    data: Path = asked.data
    found = channels_of(
        rows_of(data / "irc_train.messages.jsonl.gz"),
        rows_of(data / "irc_train.queries.jsonl.gz"),
    )
    clock = SteppingClock()
    changes, held = [], []
    for seed in range(asked.first_seed, asked.first_seed + asked.channels):
        channel = found[seed % len(found)]
        people = People(PLANTED[asked.planted], asked.feedback, seed)
        async with server(clock) as client:
            trial = Trial(client, clock, channel, people)
            await trial.begin()
            before = await trial.worth(SHARED)
            await trial.live_through(asked.windows, asked.builds)
            after = await trial.worth(trial.weights)
            best = await trial.worth(people.planted)
        gap = best.liked - before.liked
        told = {
            "channel": channel.name,
            "seed": seed,
            "planted": asked.planted,
            "feedback": asked.feedback,
            "weights": [round(one, 4) for one in trial.weights.tolist()],
            "recovered": round((after.liked - before.liked) / gap, 3) if gap > 0 else None,
            "closed": round(trial.closed, 3),
            "before_after_planted": [[round(n, 4) for n in one] for one in (before, after, best)],
            "gold_hit_change": round(after.gold_hit - before.gold_hit, 4),
            "held": len(channel.held),
            "adopted": trial.reasons.count("ADOPTED"),
            "rolled_back": trial.reasons.count("ROLLED_BACK"),
            "reasons": trial.reasons,
        }
        print(json.dumps(told), flush=True)
        changes.append(after.gold_hit - before.gold_hit)
        held.append(len(channel.held))
    pooled = float(np.average(changes, weights=held))
    print(json.dumps({"gold_hit_change": round(pooled, 4), "held": sum(held)}))


def main() -> None:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with irc_train")
    parser.add_argument("--channels", type=int, default=3, help="how many (3)")
    parser.add_argument("--first-seed", type=int, default=0, help="of the first (0)")
    parser.add_argument("--windows", type=int, default=12, help="tunings of each (12)")
    parser.add_argument("--builds", type=int, default=1_500, help="rated builds a window (1,500)")
    parser.add_argument("--planted", choices=[*PLANTED], default="mentions")
    parser.add_argument("--feedback", choices=get_args(Feedback), default="honest")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
