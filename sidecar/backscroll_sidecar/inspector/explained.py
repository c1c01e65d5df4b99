"""A built context as a page shows it: its question, and every candidate with what decided. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backscroll.v1 import context_pb2 as pb
from backscroll.v1.message_pb2 import MessageType
from backscroll_sidecar.inspector.said import Said, said, text_of

NEAR_MISSES = 12
"""How many of the best that were left out stand in the open."""
MOST_OPEN = 200
"""Lines of one fate, or of a run that is unfolded, that are shown at once."""
FOLDED_FROM = 4
"""So many lines one after another that are neither taken nor near misses stand folded; fewer stand as they are."""
KEPT_BY = frozenset({"pinned", "chain", "floor", "round", "exploration"})
"""What keeps a line whatever its score."""
SOURCE_OF = {v.number: v.name.removeprefix("SOURCE_").lower() for v in pb.Source.DESCRIPTOR.values}
RULE_OF = {
    v.number: v.name.removeprefix("VISIBILITY_RULE_").lower()
    for v in pb.VisibilityRule.DESCRIPTOR.values
}
FATE_OF = {v.number: v.name.removeprefix("FATE_").lower() for v in pb.Fate.DESCRIPTOR.values}


Key = tuple[str, str]
"""A message among candidates: its channel, empty for that of the build, and its id."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a line is in or out: a text of `page_texts` by its key, and what it holds."""

    key: str
    values: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Line:
    """One candidate.

    Attributes
    ----------
    at : its place among all candidates, in order of time.
    shares : what each factor added or took, in the order of `Explained.factors`.
    is_near : of the best that were left out.
    recorded : its fate in the record that is opened; empty: the same, or there is no record.
    """

    at: int
    said: Said
    channel: str
    taken: bool
    rank: int
    score: float
    linear: float
    scored_by: str
    decided_by: str
    fate: str
    sources: Sequence[str]
    shares: Sequence[float]
    visible_by: str
    reason: Reason
    is_near: bool = False
    recorded: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """Lines one after another that are neither taken nor near misses: from `start` on, `end` exclusive."""

    start: int
    end: int
    best: float
    fates: Sequence[tuple[str, int]]

    @property
    def count(self) -> int:
        """How many lines."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Tokens:
    """Where the tokens went: part by part, with what is left of the budget."""

    parts: Sequence[tuple[str, int]]
    total: int
    budget: int

    @property
    def free(self) -> int:
        """What the budget has left."""
        return max(self.budget - self.total, 0)


@dataclass(frozen=True, slots=True)
class Explained:
    """A whole build. `fates`: how many lines have which; `span`: the widest sum of shares to either side."""

    channel: str
    context_id: str
    question: Said
    question_type: str
    asked_at_ms: int
    profile: str
    rung: str
    addressed: bool
    channel_known: bool
    microseconds: int
    candidate_count: int
    taken_count: int
    tokens: Tokens
    degradations: Sequence[str]
    factors: Sequence[str]
    weights: Sequence[float]
    threshold: float
    link: str
    fates: Sequence[tuple[str, int]]
    rows: Sequence[Line | Fold]
    span: float
    summary: str
    experiment: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page wants of the candidates: those of one fate alone, a run that is unfolded, lines that must be seen."""

    fate: str = ""
    unfolded: tuple[int, int] | None = None
    keys: Collection[Key] = ()


ALL = Shown()


def wanted_keys(response: pb.BuildContextResponse, shown: Shown = ALL) -> list[Key]:
    """Messages whose text a page needs and the response does not hold."""
    held = texts_of(response)
    candidates = response.explanation.candidates
    keys = [key_of(candidates[at]) for at in sorted(_open(candidates, shown))]
    return [key for key in keys if key not in held]


def key_of(one: pb.CandidateExplanation) -> Key:
    """The candidate's channel and id."""
    return one.channel, one.message_id


def texts_of(*responses: pb.BuildContextResponse) -> dict[Key, Said]:
    """What the selected messages say. Where a request names no channel, explanations name none either."""
    found: dict[Key, Said] = {}
    for response in responses:
        for item in response.items:
            text = said(item.message)
            found[item.channel, item.message.id] = text
            found.setdefault(("", item.message.id), text)
    return found


def explained(
    request: pb.BuildContextRequest,
    response: pb.BuildContextResponse,
    texts: Mapping[Key, Said],
    shown: Shown = ALL,
    recorded: Mapping[str, str] | None = None,
) -> Explained:
    """The page of a build; `texts` has what `wanted_keys` asked for, `recorded` the fates of a record."""
    account = response.explanation
    rows = _rows(response, texts, shown, recorded or {})
    lines = [one for one in rows if isinstance(one, Line)]
    fates = Counter(FATE_OF[one.fate] for one in account.candidates)
    return Explained(
        channel=request.channel,
        context_id=response.context_id,
        question=question_of(request, response),
        question_type=MessageType.Name(response.question_type).removeprefix("MESSAGE_TYPE_").lower(),
        asked_at_ms=response.asked_at_ms,
        profile=response.profile,
        rung=pb.Rung.Name(response.rung).removeprefix("RUNG_").lower(),
        addressed=response.addressed,
        channel_known=response.channel_known,
        microseconds=sum(response.diagnostics.stage_microseconds.values()),
        candidate_count=len(account.candidates),
        taken_count=len(response.items),
        tokens=tokens_of(response.tokens),
        degradations=[" ".join(filter(None, (d.stage, d.source, d.reason))) for d in response.degradations],
        factors=list(account.factors),
        weights=list(account.weights),
        threshold=account.threshold,
        link=account.link,
        fates=[(name, fates[name]) for name in FATE_OF.values() if fates[name]],
        rows=rows,
        span=max((max(_sides(one.shares)) for one in lines), default=0.0),
        summary=response.summary,
        experiment=" / ".join(filter(None, (response.experiment.experiment_id, response.experiment.arm))),
    )  # fmt: skip


def tokens_of(counts: pb.TokenCounts) -> Tokens:
    """Where the tokens of a payload went."""
    names = (
        "system",
        "tools",
        "summary",
        "preferences",
        "semantic",
        "recent",
        "question",
        "framing",
        "reserve",
    )
    parts = [(name, getattr(counts, name)) for name in names]
    return Tokens(parts, counts.total, counts.budget)


def taken_lines(
    response: pb.BuildContextResponse, texts: Mapping[Key, Said], keys: Collection[Key]
) -> dict[Key, Line]:
    """The candidates of these channels and ids, of whatever fate, with their texts."""
    candidates = response.explanation.candidates
    last = min(
        (c for c in candidates if c.fate == pb.FATE_SELECTED), key=lambda c: c.score, default=None
    )
    return {
        key: _line(at, one, texts[key], response, last, False, {})
        for at, one in enumerate(candidates)
        if (key := key_of(one)) in keys
    }


def lines_of(rows: Iterable[Line | Fold]) -> list[Line]:
    """The lines without the folds."""
    return [one for one in rows if isinstance(one, Line)]


def question_of(request: pb.BuildContextRequest, response: pb.BuildContextResponse) -> Said:
    """What was asked, and by whom."""
    if response.HasField("trigger"):
        one = said(response.trigger, 4_000)
        return replace(one, text=request.question or one.text) if request.question.strip() else one
    asker = request.asker
    return Said("", asker.name or asker.id, asker.id, request.question, response.asked_at_ms)


def _rows(
    response: pb.BuildContextResponse,
    texts: Mapping[Key, Said],
    shown: Shown,
    recorded: Mapping[str, str],
) -> list[Line | Fold]:
    candidates = response.explanation.candidates
    known = {**texts, **texts_of(response)}
    near = set(_near(candidates))
    in_the_open = _open(candidates, shown)
    taken = [one for one in candidates if one.fate == pb.FATE_SELECTED]
    last = min(taken, key=lambda one: one.score, default=None)
    rows: list[Line | Fold] = []
    start: int | None = None
    first, end = shown.unfolded or (0, len(candidates))
    end = min(end, len(candidates))
    for at in range(first, end):
        one = candidates[at]
        if at not in in_the_open:
            start = at if start is None else start
            continue
        if start is not None:
            rows.append(_fold(candidates, start, at))
            start = None
        is_near = at in near
        line = known.get(key_of(one)) or Said(one.message_id, "", "", "", 0)
        rows.append(_line(at, one, line, response, last, is_near, recorded))
    if start is not None:
        rows.append(_fold(candidates, start, end))
    return rows


def _near(candidates: Sequence[pb.CandidateExplanation]) -> list[int]:
    """The best that were left out."""
    lost = [at for at, one in enumerate(candidates) if one.fate != pb.FATE_SELECTED]
    return sorted(lost, key=lambda at: (-candidates[at].score, -at))[:NEAR_MISSES]


def _open(candidates: Sequence[pb.CandidateExplanation], shown: Shown) -> set[int]:
    """Which candidates stand in the open."""
    if shown.unfolded:
        start, end = shown.unfolded
        return set(range(start, min(end, start + MOST_OPEN, len(candidates))))
    if shown.fate:
        of_it = [at for at, one in enumerate(candidates) if FATE_OF[one.fate] == shown.fate]
        return set(sorted(of_it, key=lambda at: (-candidates[at].score, -at))[:MOST_OPEN])
    found = set(_near(candidates))
    found |= {
        at
        for at, one in enumerate(candidates)
        if one.fate == pb.FATE_SELECTED or key_of(one) in shown.keys
    }
    closed: list[int] = []
    for at in range(len(candidates) + 1):
        if at < len(candidates) and at not in found:
            closed.append(at)
            continue
        if len(closed) < FOLDED_FROM:
            found.update(closed)
        closed = []
    return found


def _fold(candidates: Sequence[pb.CandidateExplanation], start: int, end: int) -> Fold:
    run = candidates[start:end]
    fates = Counter(FATE_OF[one.fate] for one in run)
    return Fold(start, end, max(one.score for one in run), fates.most_common())


def _line(
    at: int,
    one: pb.CandidateExplanation,
    line: Said,
    response: pb.BuildContextResponse,
    last: pb.CandidateExplanation | None,
    is_near: bool,
    recorded: Mapping[str, str],
) -> Line:
    fate = FATE_OF[one.fate]
    before = "" if one.channel else recorded.get(one.message_id, "")
    return Line(
        at=at,
        said=line,
        channel=one.channel,
        taken=one.fate == pb.FATE_SELECTED,
        rank=one.rank,
        score=one.score,
        linear=one.linear,
        scored_by=one.scored_by,
        decided_by=one.decided_by,
        fate=fate,
        sources=[
            *(SOURCE_OF[number] for number in one.sources if number != pb.SOURCE_OWN),
            *one.own_sources,
        ],
        shares=list(one.shares),
        visible_by=RULE_OF[one.visible_by] if one.visible_by else "",
        reason=reason_of(one, line, response, last),
        is_near=is_near,
        recorded="" if before == fate else before,
    )


def reason_of(
    one: pb.CandidateExplanation,
    line: Said,
    response: pb.BuildContextResponse,
    last: pb.CandidateExplanation | None,
) -> Reason:
    """Why a line is in, or which rule it lost to and by how much; `last` is the worst that was taken."""
    if one.fate == pb.FATE_SELECTED:
        key = f"taken_{one.decided_by}" if one.decided_by in KEPT_BY else "taken_score"
        return Reason(key, {"rank": one.rank, "by": one.scored_by})
    fate = FATE_OF[one.fate]
    if one.fate == pb.FATE_THRESHOLD:
        return Reason(
            "lost_threshold", {"score": one.score, "threshold": response.explanation.threshold}
        )
    if one.fate == pb.FATE_LIMIT:
        missing = last.score - one.score if last and last.scored_by == one.scored_by else 0.0
        key = "lost_limit" if missing > 0 else "lost_limit_full"
        return Reason(key, {"taken": len(response.items), "missing": missing})
    if one.fate == pb.FATE_BUDGET:
        free = max(response.tokens.budget - response.tokens.total, 0)
        return Reason("lost_budget", {"tokens": line.tokens, "free": free})
    if one.fate == pb.FATE_DUPLICATE and (rank := _rank_of_same(line, response)):
        return Reason("lost_duplicate_of", {"rank": rank})
    return Reason(f"lost_{fate}" if one.decided_by != "round" else "lost_round")


def _rank_of_same(line: Said, response: pb.BuildContextResponse) -> int:
    """The place of the message that was taken instead; 0: none is the same to the letter."""
    same = (item for item in response.items if item.message.author.id == line.who_id)
    return next((item.rank for item in same if text_of(item.message) == line.text), 0)


def _sides(shares: Iterable[float]) -> tuple[float, float]:
    """What shares add, and what they take, each as a positive number."""
    up = sum(one for one in shares if one > 0)
    return up, up - sum(shares)
