"""Running a set: what came before a question goes in, the question is asked, and so on; every profile on the same
history.

A build stores nothing, so one pass serves every profile. Channels run side by side. Before a question is asked,
everything said is in the index: the figures do not depend on how fast the machine is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from backscroll import Author, Client, Context, Mention, Message, Overrides
from backscroll_bench.quality.baselines import BASELINES, Chooser
from backscroll_bench.quality.data import SELF_ID, ChatSet, Line, Question
from backscroll_bench.quality.metrics import DEPTH, Chosen, Score, score
from backscroll_sidecar.analyze.tokens import token_counter

DEFAULT_WORKERS = 3
"""Channels side by side: enough to keep a server of one process busy."""
TOKENS_A_MESSAGE = 4
"""What a chat message costs beyond its text."""
FAR_BUDGET = 1_000_000
"""Tokens: above any list, so that the maximum of messages alone limits it."""
BATCH_LINES, BATCH_CHARACTERS = 500, 500_000
INDEX_WAIT_S = 120.0
BY_HISTORY = {"memory", "meaning"}
"""How candidates are scored that the whole history gives, by words and meaning or by meaning alone."""
NOT_CONFIGURED = "NOT_CONFIGURED"
"""Why a source is away that a server never had; any other reason is a failure."""


class Misjudged(Exception):
    """The server did not answer as a judgement needs it: it degraded, lost a message, or chose one that cannot be."""


@dataclass(frozen=True)
class Judged:
    """One selector's scores of a set, in the order of `groups`: the group of each. `without`: the sources it lacked."""

    selector: str
    groups: Sequence[str]
    scores: Sequence[Score]
    without: Sequence[str] = ()


class LiveServer:
    """A running server as something to judge. Channels get a prefix, so that sets do not meet."""

    def __init__(self, client: Client, prefix: str = "quality") -> None:
        self._client = client
        self._prefix = prefix
        self._missing: dict[str, set[str]] = defaultdict(set)

    def channel(self, chats: ChatSet, group: str) -> str:
        """The name of a group's channel."""
        return f"{self._prefix}/{chats.name}/{group}"

    def hear(self, channel: str, lines: Sequence[Line]) -> None:
        """Append in order; everything can be found, by meaning too, when it returns."""
        for batch in _batches(lines):
            report = self._client.append(channel, [_message(line) for line in batch])
            if report.stored != len(batch):
                raise Misjudged(f"not stored in {channel}: {report.problems or 'was there before'}")
        if not self._client.wait_for_index(channel, wait_s=INDEX_WAIT_S).ready:
            raise Misjudged(f"the index of {channel} is not ready after {INDEX_WAIT_S:.0f} s")

    def chooser(self, channel: str, profile: str) -> Chooser:
        """What asks for the context of a question with this profile."""

        def choose(question: Question) -> Chosen:
            line = question.line
            context = self._client.build_context(
                channel,
                line.content,
                asker=Author(line.user_id, line.name),
                trigger_message_id=line.message_id if question.live else None,
                asked_at=line.timestamp,
                reply=line.reply_to,
                mentions=_mentions(line),
                self_ids=(SELF_ID,) if question.live else (),
                profile=profile,
                overrides=Overrides(max_context=DEPTH),
                token_budget=FAR_BUDGET,
                payload_formats="none",
                explain=True,
            )
            self._note(profile, question, context)
            ranked = sorted(context.items, key=lambda item: item.rank)
            told = context.explanation
            from_history = told is not None and any(
                one.scored_by in BY_HISTORY for one in told.candidates
            )
            return Chosen([item.message.id for item in ranked], from_history)

        return choose

    def missing(self, profile: str) -> list[str]:
        """Sources of the profile that this server has not got; its figures are those without them."""
        return sorted(self._missing[profile])

    def _note(self, profile: str, question: Question, context: Context) -> None:
        for one in context.degradations:
            if one.reason != NOT_CONFIGURED:
                raise Misjudged(
                    f"{profile} degraded at {question.question_id}: {one.stage} {one.source} {one.reason}"
                )
            self._missing[profile].add(one.source)


def judge(
    chats: ChatSet,
    server: LiveServer,
    profiles: Sequence[str],
    baselines: Sequence[str] = (),
    *,
    workers: int = DEFAULT_WORKERS,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Judged]:
    """Ask every question of the set with every profile and baseline; recency is always judged and comes first.

    `progress` is called with the number of questions done since the last call, from any thread.
    """
    names = ["recency", *(name for name in baselines if name != "recency")]

    def of_group(group: str) -> Mapping[str, list[Score]]:
        channel = server.channel(chats, group)
        choosers = {name: BASELINES[name](chats.groups[group]) for name in names}
        choosers |= {profile: server.chooser(channel, profile) for profile in profiles}
        return _judge_group(chats, group, server, choosers, progress)

    pool = ThreadPoolExecutor(workers, "quality")
    try:
        found = list(pool.map(of_group, chats.by_group))
    finally:
        pool.shutdown(cancel_futures=True)
    groups = [group for group, asked in chats.by_group.items() for _ in asked]
    return [
        Judged(
            name, groups, [one for scores in found for one in scores[name]], server.missing(name)
        )
        for name in (*names, *profiles)
    ]


def _judge_group(
    chats: ChatSet,
    group: str,
    server: LiveServer,
    choosers: Mapping[str, Chooser],
    progress: Callable[[int], None],
) -> Mapping[str, list[Score]]:
    lines = chats.groups[group]
    count = token_counter().count
    tokens = [count(f"{line.name}: {line.content}") + TOKENS_A_MESSAGE for line in lines]
    position = {line.message_id: at for at, line in enumerate(lines)}
    scores: dict[str, list[Score]] = {name: [] for name in choosers}
    heard = 0
    for question in chats.by_group[group]:
        if question.heard > heard:
            server.hear(server.channel(chats, group), lines[heard : question.heard])
            heard = question.heard
        for name, choose in choosers.items():
            chosen = choose(question)
            _check(name, question, chosen.ids, position)
            scores[name].append(score(question, chosen, position, tokens))
        progress(1)
    return scores


def _check(name: str, question: Question, ids: Sequence[str], position: Mapping[str, int]) -> None:
    wrong = [one for one in ids if position.get(one, question.cut) >= question.cut]
    if wrong or len(set(ids)) != len(ids):
        raise Misjudged(
            f"{name} chose unknown, later or repeated messages for {question.question_id}: {wrong[:3]}"
        )


def _batches(lines: Sequence[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == BATCH_LINES or size + len(line.content) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line.content)
    if batch:
        yield batch


def _message(line: Line) -> Message:
    return Message(
        line.message_id,
        Author(line.user_id, line.name),
        line.content,
        line.timestamp,
        reply_to=line.reply_to,
        mentions=_mentions(line),
        role="assistant" if line.by_bot else "user",
    )


def _mentions(line: Line) -> list[Mention]:
    return [Mention(user_id=user_id, name=name) for user_id, name in line.mentions]
