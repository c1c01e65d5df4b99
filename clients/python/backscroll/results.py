"""What the calls return where the bare protobuf message would be less than handy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from backscroll._encode import enum_name
from backscroll.errors import Omitted
from backscroll.v1 import context_pb2, history_pb2, message_pb2

_OUTCOME = history_pb2.AppendOutcome
_PROBLEMS = (_OUTCOME.APPEND_OUTCOME_CONFLICT, _OUTCOME.APPEND_OUTCOME_REFUSED)


def text_of(message: message_pb2.Message) -> str:
    r"""Text parts of a message, one a line.

    Examples
    --------
    >>> from backscroll import Message
    >>> text_of(Message("m1", "ann", "hello", parts=["there"]).to_proto())
    'hello\nthere'
    """
    return "\n".join(part.text.text for part in message.parts if part.HasField("text"))


@dataclass(frozen=True)
class Context:
    """The context of one question.

    Attributes
    ----------
    raw : backscroll.v1.context_pb2.BuildContextResponse
        Everything the server said.
    omitted : frozenset of str
        Parts that the request left out (`omit`). Those that are read here raise `Omitted`.

    Examples
    --------
    >>> context = client.build_context("room", "when do we meet?", asker="ann")
    >>> [text_of(item.message) for item in context.items]
    ['we meet at six']
    >>> context.messages[-1]
    {'role': 'user', 'content': 'when do we meet?'}
    >>> context.payload["model"]
    'gpt-4o-mini'
    """

    raw: context_pb2.BuildContextResponse
    omitted: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, raw: context_pb2.BuildContextResponse, request: context_pb2.BuildContextRequest
    ) -> Context:
        """Make a context of the answer to a request."""
        parts = context_pb2.ResponsePart.DESCRIPTOR
        return cls(raw, frozenset(enum_name(parts, one) for one in request.omit))

    def _check(self, part: str) -> None:
        if part in self.omitted:
            raise Omitted(part)

    @property
    def id(self) -> str:
        """Name of this build in usage records and feedback."""
        return self.raw.context_id

    @property
    def channel_known(self) -> bool:
        """False for a channel never heard of; its name may be mistyped: `near_channels` names known ones like it."""
        return self.raw.channel_known

    @property
    def rung(self) -> str:
        """How the messages were chosen: "ranked", or what a build came down to, such as "recent"."""
        return enum_name(context_pb2.Rung.DESCRIPTOR, self.raw.rung)

    @property
    def profile(self) -> str:
        """The profile that the messages were chosen with."""
        return self.raw.profile

    @property
    def exploration(self) -> context_pb2.Exploration | None:
        """How its last places were drawn; None: nothing was left to chance."""
        return self.raw.exploration if self.raw.HasField("exploration") else None

    @property
    def items(self) -> Sequence[context_pb2.Item]:
        """Messages that were selected, in time order, each with its rank, score and sources.

        Of each message there is only its id where the request left out "item_messages".
        """
        return self.raw.items

    @cached_property
    def visible_by(self) -> dict[str, str]:
        """By what rule each message of `items` may be shown, by its id: "channel", "session", "audience", …"""
        rules = context_pb2.VisibilityRule.DESCRIPTOR
        return {item.message.id: enum_name(rules, item.visible_by) for item in self.raw.items}

    @cached_property
    def messages(self) -> list[dict[str, str]]:
        """Neutral messages of the layout, the question last: a role and a content each.

        Raises
        ------
        Omitted
            If the request left out "messages".
        """
        self._check("messages")
        roles = message_pb2.Role.DESCRIPTOR
        return [
            {"role": enum_name(roles, message.role), "content": message.content}
            for message in self.raw.messages
        ]

    @property
    def payload_bytes(self) -> bytes:
        """Body of a request to the vendor's API, JSON in UTF-8, to be posted unchanged.

        Raises
        ------
        LookupError
            If the request asked for no payload (payload_formats="none").
        Omitted
            If the request left out "payloads".
        """
        self._check("payloads")
        if not self.raw.payloads:
            raise LookupError("this context was built without a payload (payload_formats='none')")
        return self.raw.payloads[0].body

    @cached_property
    def payload(self) -> dict[str, Any]:
        """The same body as a dict: `openai.chat.completions.create(**context.payload)`."""
        body: dict[str, Any] = json.loads(self.payload_bytes)
        return body

    @property
    def text(self) -> str:
        """Context as plain text, without the question.

        Raises
        ------
        Omitted
            If the request left out "text".
        """
        self._check("text")
        return self.raw.text

    @property
    def tokens(self) -> context_pb2.TokenCounts:
        """Where the tokens of the payload went."""
        return self.raw.tokens

    @property
    def experiment(self) -> context_pb2.ExperimentUse:
        """The experiment that the channel is in, and by which arm this was built; empty: in none."""
        return self.raw.experiment

    @property
    def degradations(self) -> Sequence[context_pb2.Degradation]:
        """Every part that failed and cost only itself; empty: nothing did."""
        return self.raw.degradations

    @property
    def explanation(self) -> context_pb2.Explanation | None:
        """Every candidate with its scores and fate, if the request asked with `explain`."""
        return self.raw.explanation if self.raw.HasField("explanation") else None

    def __repr__(self) -> str:
        return (
            f"<Context {self.id}: {len(self.items)} items, {self.tokens.total} tokens, {self.rung}"
            f"{'' if self.channel_known else ', unknown channel'}{', degraded' if self.degradations else ''}>"
        )


@dataclass(frozen=True)
class AppendReport:
    """What became of each message of an append.

    Attributes
    ----------
    results : tuple of backscroll.v1.history_pb2.AppendResult
        One a message, in the order sent.

    Examples
    --------
    >>> report = client.append("room", [Message("m1", "ann", "we meet at six", 1795132800000)])
    >>> report.stored, report.duplicates, report.problems
    (1, 0, ())
    """

    results: tuple[history_pb2.AppendResult, ...]

    @cached_property
    def _counts(self) -> Counter[int]:
        return Counter(result.outcome for result in self.results)

    @property
    def stored(self) -> int:
        """Number of messages that were new and are durable now."""
        return self._counts[_OUTCOME.APPEND_OUTCOME_STORED]

    @property
    def duplicates(self) -> int:
        """Number of messages that were there already."""
        return self._counts[_OUTCOME.APPEND_OUTCOME_DUPLICATE]

    @property
    def gone(self) -> int:
        """Number of messages that were recalled or erased before, and stay gone."""
        return self._counts[_OUTCOME.APPEND_OUTCOME_GONE]

    @property
    def warnings(self) -> tuple[history_pb2.AppendResult, ...]:
        """Results of what was accepted, but not taken exactly as sent; each names its `warnings`.

        A reply to a message not there yet, a time of 0 or in the future, a duplicate that differs.
        """
        return tuple(result for result in self.results if result.warnings)

    @property
    def problems(self) -> tuple[history_pb2.AppendResult, ...]:
        """Results that are refused, or in conflict with what is stored. Nothing raises for them."""
        return tuple(result for result in self.results if result.outcome in _PROBLEMS)

    def __repr__(self) -> str:
        problems, warned = self.problems, self.warnings
        gone = f"{self.gone} gone, " if self.gone else ""
        first = f": {_problem(problems[0])}" if problems else ""
        warnings = f", {len(warned)} with warnings: {_warned(warned[0])}" if warned else ""
        return (
            f"<AppendReport: {len(self.results)} messages, {self.stored} stored, "
            f"{self.duplicates} duplicates, {gone}{len(problems)} problems{first}{warnings}>"
        )


class EraseReceipt(dict[str, int]):
    """How many went from each store, all stores named; of a dry run how many would go.

    Attributes
    ----------
    tenant : str
    erased_at_ms : int
        By the server's clock.
    are_files_clean : bool
        Whether nothing that was ever deleted is left in a file of the server. The same call again tells it anew.
    files_clean_by_ms : int
        Until when it should be gone from the files, where they are not clean; 0: when PostgreSQL vacuums them.
    is_dry_run : bool
        Nothing was deleted.
    """

    __slots__ = ("are_files_clean", "erased_at_ms", "files_clean_by_ms", "is_dry_run", "tenant")

    def __init__(self, response: history_pb2.EraseResponse) -> None:
        super().__init__(sorted(response.erased_count_by_store.items()))
        self.tenant = response.tenant
        self.erased_at_ms = response.erased_at_ms
        self.are_files_clean = response.files == history_pb2.FILES_STATE_CLEAN
        self.files_clean_by_ms = response.files_clean_by_ms
        self.is_dry_run = response.dry_run


class SearchHits(tuple[history_pb2.SearchHit, ...]):  # noqa: SLOT001 - tuples cannot have slots
    """Messages found: by words those stored last first, by meaning the most similar first.

    Attributes
    ----------
    exhaustive : bool
        False where something better may have been missed: see `backscroll.v1.SearchMessagesResponse`.
    """

    exhaustive: bool

    def __new__(cls, hits: Iterable[history_pb2.SearchHit], *, exhaustive: bool) -> SearchHits:
        made = super().__new__(cls, hits)
        made.exhaustive = exhaustive
        return made


def _problem(result: history_pb2.AppendResult) -> str:
    """What became of a message, in a few words."""
    outcome = enum_name(_OUTCOME.DESCRIPTOR, result.outcome)
    refusal = enum_name(history_pb2.AppendRefusal.DESCRIPTOR, result.refusal)
    why = f", {refusal}" if result.refusal else ""
    return f"{result.message_id!r} {outcome}{why}{f' ({result.field})' if result.field else ''}"


def _warned(result: history_pb2.AppendResult) -> str:
    """In what a message was not taken as sent."""
    warning = history_pb2.AppendWarning.DESCRIPTOR
    return f"{result.message_id!r} {', '.join(enum_name(warning, one) for one in result.warnings)}"
