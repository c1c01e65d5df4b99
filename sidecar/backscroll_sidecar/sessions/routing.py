"""Who answers a message, and why. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from backscroll_sidecar.domain import AuthorKind, Mention
from backscroll_sidecar.sessions.mentions import (
    Found,
    Names,
    Span,
    begins_line,
    read_mentions,
    without_spans,
)
from backscroll_sidecar.sessions.modes.base import Unaddressed
from backscroll_sidecar.sessions.participants import (
    Participant,
    ParticipantKind,
    ReplyRule,
    name_key,
)

MOST_OF_A_PERSONA = 2
"""Who answers one message of a persona or a bot, at most: what they say to each other must not swell."""


class RouteReason(StrEnum):
    """Why somebody answers."""

    EXPLICIT = "explicit"
    MENTION = "mention"
    GROUP_MENTION = "group_mention"
    REPLY = "reply"
    ROLE_MAP = "role_map"
    SELECTOR = "selector"
    LAST_HEALTHY = "last_healthy"
    DEFAULT = "default"
    ALL = "all"
    ALWAYS = "always"
    ONWARD = "onward"


class IgnoredReason(StrEnum):
    """Why somebody who is named does not answer."""

    UNKNOWN = "unknown"
    SELF = "self"
    UNAVAILABLE = "unavailable"
    CODE = "code"
    LIMIT = "limit"
    LOOP = "loop"


class Target(msgspec.Struct, frozen=True):
    """A persona that answers. `start` and `end`: code points of the mention in the text; both 0: none."""

    id: str
    reason: RouteReason
    start: int = 0
    end: int = 0


class Ignored(msgspec.Struct, frozen=True):
    """A mention, or a wish, that leads to nobody. `participant_id` is empty where nobody is known by it.

    `sender_id` is whoever named a persona that may not answer it now.
    """

    text: str
    reason: IgnoredReason
    participant_id: str = ""
    start: int = 0
    end: int = 0
    sender_id: str = ""


class Said(msgspec.Struct, frozen=True):
    """A message that is to be routed.

    Attributes
    ----------
    text : what it says.
    sender_id : who says it.
    mentions : those that the platform marked, with code points where it knows them.
    answered_id : the author of the message that it replies to; empty: it is no reply.
    targets : ids or names that the caller wants to answer, whatever the text says.
    sender_kind : what the sender is, where it takes no part in the session.
    """

    text: str
    sender_id: str = ""
    mentions: tuple[Mention, ...] = ()
    answered_id: str = ""
    targets: tuple[str, ...] = ()
    sender_kind: AuthorKind = AuthorKind.HUMAN


class Rules(msgspec.Struct, frozen=True):
    """By what a session routes.

    Attributes
    ----------
    unaddressed : who answers what names nobody.
    heeds_mentions : False: only explicit targets and `role_ids` decide.
    role_ids : those whom the mode waits for; None: it leaves that to the text.
    default_id : of `Unaddressed.DEFAULT`, and where no other is healthy.
    preferred_ids : of `Unaddressed.LAST_HEALTHY`, the scope to look in; empty: everybody.
    last_answered_ids : personas whose last answer succeeded, the latest first.
    failing_ids : personas whose last answer failed.
    max_targets : how many may answer one message.
    looped_ids : personas that may not answer this sender now, for the two have answered each other too often.
    """

    unaddressed: Unaddressed = Unaddressed.ALL
    heeds_mentions: bool = True
    role_ids: tuple[str, ...] | None = None
    default_id: str = ""
    preferred_ids: tuple[str, ...] = ()
    last_answered_ids: tuple[str, ...] = ()
    failing_ids: frozenset[str] = frozenset()
    max_targets: int = 8
    looped_ids: frozenset[str] = frozenset()


class Routed(msgspec.Struct, frozen=True):
    """What routing came to.

    Attributes
    ----------
    targets : who answers, each once, in the order in which they are named.
    ignored : what led to nobody.
    clean_text : the text without the mentions of personas that were heeded; empty where nothing else is in it.
    policy : what decided where nobody was named; `unaddressed` of the rules.
    candidates : with `Unaddressed.SELECTOR` and nobody named: those among whom somebody else must choose.
    """

    targets: tuple[Target, ...]
    ignored: tuple[Ignored, ...]
    clean_text: str
    policy: Unaddressed
    candidates: tuple[str, ...] = ()


class Lookup:
    """Everything participants are called by, ready to be looked for. Make one for each set of participants, once.

    Attributes
    ----------
    participants : as they were given.
    names : by what a text names them.
    able : personas that are present and may answer what names them, in order.
    routed : those of them that may answer what names nobody.
    always : those of them that answer everything.
    """

    def __init__(self, participants: Sequence[Participant]) -> None:
        self.participants = participants
        self.names = Names(participants)
        self._by_id = {one.id: one for one in participants}
        self.able = tuple(filter(_may_answer, participants))
        self.routed = tuple(one for one in self.able if one.reply is not ReplyRule.MENTIONED)
        self.always = tuple(one for one in self.able if one.reply is ReplyRule.ALWAYS)

    def find(self, name: str) -> str | None:
        """The participant that has this id, or else this name."""
        return self.names.find(name)

    def participant(self, participant_id: str) -> Participant | None:
        """The participant of exactly this id."""
        return self._by_id.get(participant_id)

    def is_person(self, sender_id: str, kind: AuthorKind) -> bool:
        """Whether somebody is no machine: a participant by what it is here, anybody else by its `kind`."""
        sender = self._by_id.get(sender_id)
        if sender is None:
            return kind is AuthorKind.HUMAN or kind is AuthorKind.SYSTEM
        return sender.kind is ParticipantKind.HUMAN


def route(said: Said, lookup: Lookup, rules: Rules) -> Routed:
    """Who answers. At most 100 µs with 20 participants and an ordinary message."""
    if said.targets:
        return _as_told(said, lookup, rules)
    if rules.role_ids is not None:
        return _by_role(said, lookup, rules, rules.role_ids)
    is_person = lookup.is_person(said.sender_id, said.sender_kind)
    limit = rules.max_targets if is_person else min(rules.max_targets, MOST_OF_A_PERSONA)
    choice = _Choice(said.sender_id, limit, rules.looped_ids)
    found = _heeded(said, lookup, is_person) if rules.heeds_mentions else []
    is_named = _choose_named(choice, found, lookup)
    if choice.targets and not is_person:
        _ignore_behind(choice, said, found, lookup)
    candidates: tuple[str, ...] = ()
    if is_person and not is_named:
        candidates = _choose_unnamed(choice, said, lookup, rules)
    if is_person or choice.targets:
        for one in lookup.always:
            choice.add_able(one, RouteReason.ALWAYS)
    return Routed(
        targets=tuple(choice.targets.values()),
        ignored=tuple(choice.ignored.values()),
        clean_text=_clean(said.text, found, choice),
        policy=rules.unaddressed,
        candidates=candidates,
    )


class _Choice:
    """Who answers, while it is being found out. Local to one call of `route`."""

    def __init__(self, sender_id: str, limit: int, looped_ids: frozenset[str]) -> None:
        self.targets: dict[str, Target] = {}
        self.ignored: dict[tuple[str, IgnoredReason], Ignored] = {}
        self.sender_id = sender_id
        self.limit = limit
        self.looped_ids = looped_ids

    def may_answer(self, one: Participant) -> bool:
        """Whether somebody who is able to may answer this sender."""
        return one.id != self.sender_id and one.id not in self.looped_ids

    def add(self, one: Participant, reason: RouteReason, text: str, span: Span = (0, 0)) -> None:
        """Let somebody answer who is wished for, or say why not."""
        if one.id in self.targets:
            return
        if one.is_persona and one.id == self.sender_id:
            self.ignore(text, IgnoredReason.SELF, one.id, span)
        elif not _may_answer(one):
            self.ignore(text, IgnoredReason.UNAVAILABLE, one.id, span)
        elif one.id in self.looped_ids:
            self.ignore(text, IgnoredReason.LOOP, one.id, span, self.sender_id)
        else:
            self._add_within_limit(one, reason, text, span)

    def add_able(self, one: Participant, reason: RouteReason) -> None:
        """Let somebody answer whom nobody named, if it may."""
        if one.id not in self.targets and self.may_answer(one):
            self._add_within_limit(one, reason, one.name, (0, 0))

    def ignore(
        self,
        text: str,
        reason: IgnoredReason,
        participant_id: str = "",
        span: Span = (0, 0),
        sender_id: str = "",
    ) -> None:
        """Say, once for each whom it is about, why a name leads to nobody."""
        key = participant_id or name_key(text), reason
        self.ignored.setdefault(key, Ignored(text, reason, participant_id, *span, sender_id))

    def _add_within_limit(
        self, one: Participant, reason: RouteReason, text: str, span: Span
    ) -> None:
        if len(self.targets) < self.limit:
            self.targets[one.id] = Target(one.id, reason, *span)
        else:
            self.ignore(text, IgnoredReason.LIMIT, one.id, span)


def _may_answer(one: Participant) -> bool:
    return one.is_persona and one.is_present and one.reply is not ReplyRule.NEVER


def _heeded(said: Said, lookup: Lookup, is_person: bool) -> list[Found]:
    """The mentions of a text. A machine's count at the beginning of a line only: elsewhere it speaks of others."""
    found = read_mentions(said.text, lookup.names, said.mentions)
    if is_person:
        return found
    return [
        one for one in found if one.end and not one.is_code and begins_line(said.text, one.start)
    ]


def _ignore_behind(choice: _Choice, said: Said, heeded: Sequence[Found], lookup: Lookup) -> None:
    """Say of personas that a machine names behind another one, on the same line, that only the first is asked."""
    lines = {said.text.count("\n", 0, one.start) for one in heeded}
    for one in read_mentions(said.text, lookup.names, said.mentions):
        someone = lookup.participant(one.participant_id) if one.participant_id else None
        if someone is None or one.is_code or not one.end or someone.id in choice.targets:
            continue
        is_able = _may_answer(someone) and choice.may_answer(someone)
        if is_able and said.text.count("\n", 0, one.start) in lines:
            choice.ignore(one.text, IgnoredReason.LIMIT, someone.id, (one.start, one.end))


def _choose_named(choice: _Choice, found: Sequence[Found], lookup: Lookup) -> bool:
    """Add those whom the text names; whether it names any persona, able to answer or not."""
    singly = {one.participant_id for one in found if not one.is_code}
    is_named = False
    for one in found:
        span = one.start, one.end
        someone = lookup.participant(one.participant_id) if one.participant_id else None
        if someone is not None and not someone.is_persona:
            continue
        if one.is_code:
            choice.ignore(one.text, IgnoredReason.CODE, one.participant_id, span)
        elif someone is not None:
            is_named = True
            choice.add(someone, RouteReason.MENTION, one.text, span)
        elif one.is_group:
            for each in lookup.able:
                if each.id not in singly and each.id != choice.sender_id:
                    is_named = True
                    choice.add(each, RouteReason.GROUP_MENTION, one.text, span)
        else:
            choice.ignore(one.text, IgnoredReason.UNKNOWN, "", span)
    return is_named


def _choose_unnamed(choice: _Choice, said: Said, lookup: Lookup, rules: Rules) -> tuple[str, ...]:
    """Add whoever answers what names nobody; those to choose from, where somebody else must choose."""
    answered = lookup.participant(said.answered_id) if rules.heeds_mentions else None
    if answered is not None and _may_answer(answered) and choice.may_answer(answered):
        choice.add_able(answered, RouteReason.REPLY)
        return ()
    open_to_all = [one for one in lookup.routed if choice.may_answer(one)]
    if rules.unaddressed is Unaddressed.ALL:
        for one in open_to_all:
            choice.add_able(one, RouteReason.ALL)
    elif rules.unaddressed is Unaddressed.LAST_HEALTHY:
        _choose_healthy(choice, open_to_all, lookup, rules)
    elif rules.unaddressed is Unaddressed.DEFAULT:
        if default := _default(choice, lookup, rules):
            choice.add_able(default, RouteReason.DEFAULT)
    elif rules.unaddressed is Unaddressed.SELECTOR:
        return tuple(one.id for one in open_to_all if one.reply is not ReplyRule.ALWAYS)
    return ()


def _choose_healthy(
    choice: _Choice, open_to_all: Sequence[Participant], lookup: Lookup, rules: Rules
) -> None:
    """Add the one that answered last without failing, else one that does not fail, else the best that is left."""
    by_id = {one.id: one for one in open_to_all}
    preferred = [by_id[id] for id in rules.preferred_ids if id in by_id]
    scope = preferred if rules.preferred_ids else open_to_all
    scope_ids = {one.id for one in scope} - rules.failing_ids
    last = next((id for id in rules.last_answered_ids if id in scope_ids), None)
    first = by_id[last] if last else next((one for one in scope if one.id in scope_ids), None)
    if first := first or next(iter(preferred), None):
        choice.add_able(first, RouteReason.LAST_HEALTHY)
    elif default := _default(choice, lookup, rules):
        choice.add_able(default, RouteReason.DEFAULT)
    elif open_to_all:
        choice.add_able(open_to_all[0], RouteReason.LAST_HEALTHY)


def _default(choice: _Choice, lookup: Lookup, rules: Rules) -> Participant | None:
    """The persona configured for what names nobody, if it may answer."""
    one = lookup.participant(rules.default_id)
    return one if one is not None and _may_answer(one) and choice.may_answer(one) else None


def _as_told(said: Said, lookup: Lookup, rules: Rules) -> Routed:
    """Those whom the caller wants. The text only tells where it names them."""
    is_person = lookup.is_person(said.sender_id, said.sender_kind)
    found = [one for one in _heeded(said, lookup, is_person) if one.participant_id]
    spans: dict[str, Span] = {}
    for one in found:
        if not one.is_code:
            spans.setdefault(one.participant_id, (one.start, one.end))
    choice = _Choice(said.sender_id, rules.max_targets, rules.looped_ids)
    for name in said.targets:
        someone = lookup.participant(lookup.find(name) or "")
        if someone is None:
            choice.ignore(name, IgnoredReason.UNKNOWN)
        else:
            choice.add(someone, RouteReason.EXPLICIT, name, spans.get(someone.id, (0, 0)))
    return Routed(
        targets=tuple(choice.targets.values()),
        ignored=tuple(choice.ignored.values()),
        clean_text=_clean(said.text, found, choice),
        policy=rules.unaddressed,
    )


def _by_role(said: Said, lookup: Lookup, rules: Rules, role_ids: Sequence[str]) -> Routed:
    """Those whom the mode waits for. It knows when somebody speaks twice: neither sender nor loops matter here."""
    choice = _Choice("", rules.max_targets, frozenset())
    for id in role_ids:
        one = lookup.participant(id)
        if one is not None and one.is_persona:
            choice.add(one, RouteReason.ROLE_MAP, one.name)
    return Routed(
        targets=tuple(choice.targets.values()),
        ignored=tuple(choice.ignored.values()),
        clean_text=said.text.strip(),
        policy=rules.unaddressed,
    )


def _clean(text: str, found: Sequence[Found], choice: _Choice) -> str:
    """The text without the mentions that led to somebody who answers, and without the ``<`` and ``>`` around them."""
    targets = choice.targets
    spans = [
        _in_brackets(text, one.start, one.end)
        for one in found
        if one.end
        and not one.is_code
        and (one.participant_id in targets or (one.is_group and targets))
    ]
    return without_spans(text, spans)


def _in_brackets(text: str, start: int, end: int) -> Span:
    """The span with the angle brackets right around it."""
    is_within = text[start - 1 : start] == "<" and text.startswith(">", end)
    return (start - 1, end + 1) if is_within else (start, end)
