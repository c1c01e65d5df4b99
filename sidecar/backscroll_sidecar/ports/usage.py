"""What is kept of a build: what it chose from and why, what came of it, and what people said of that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.domain import Degradation, Fate, Layout, Overrides, Rung

if TYPE_CHECKING:  # who reads settings must not load numpy
    import numpy as np
    from numpy.typing import NDArray

FATES = (
    Fate.SELECTED,
    Fate.THRESHOLD,
    Fate.LIMIT,
    Fate.BUDGET,
    Fate.DUPLICATE,
    Fate.DIVERSITY,
    Fate.VISIBILITY,
    Fate.RECALLED,
)
"""By the numbers they are stored under. New ones come last."""


class SignalKind(StrEnum):
    """What says how good an answer was. Stored by these words."""

    FEEDBACK = "feedback"
    """Somebody said so in as many words; the others are read from what people wrote next."""
    REPHRASED = "rephrased"
    CORRECTED = "corrected"
    THANKED = "thanked"
    CITED_LEFT_OUT = "cited_left_out"
    ANSWERED_BY_OTHER = "answered_by_other"


class Signal(msgspec.Struct, frozen=True):
    """One sign of how good an answer was.

    Attributes
    ----------
    user_id : who gave it; empty: unknown.
    message_id : the message it was read from; empty for `FEEDBACK`.
    value : 0, of no use, to 1, all that was needed.
    confidence : 0 to 1; 1 for `FEEDBACK`.
    rating : 1 to 5 as given; 0: none.
    text : what they said of it, or why a message counts as this.
    """

    kind: SignalKind
    user_id: str
    message_id: str
    value: float | None
    confidence: float
    at_ms: int
    rating: int = 0
    text: str = ""


class ForeignMessage(msgspec.Struct, frozen=True, array_like=True):
    """A candidate of another channel than the build's."""

    channel: str
    seq: int
    score: float
    fate: Fate


class Exploration(msgspec.Struct, frozen=True):
    """How the last places of a build were drawn (`learning.exploration.draw_slots`).

    Attributes
    ----------
    slots, temperature, seed : of the draw.
    probability : of drawing just these messages, in (0, 1).
    factors : what the candidates' features are of.
    seed_given : the request brought the seed.
    """

    slots: int
    temperature: float
    seed: int
    probability: float
    factors: tuple[str, ...]
    seed_given: bool = False


class Trial(msgspec.Struct, frozen=True):
    """By which arm of which experiment a build was made.

    Attributes
    ----------
    experiment_id : empty: of none.
    is_listed : its channel is in whatever was drawn.
    shadow_of : the context id of the build that was answered, where this one was made behind it; empty: this one was.
    """

    experiment_id: str = ""
    arm: str = ""
    is_listed: bool = False
    shadow_of: str = ""


NO_TRIAL = Trial()


class AskedWith(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a build was asked with beside its question, as far as it says how lines are chosen. No texts.

    Attributes
    ----------
    upto_seq : the newest arrival number that the build saw.
    asked_at_ms : as the request had it; None: that of the trigger.
    overrides : those of the request and of the channel.
    payload_format : that tokens were counted for.
    fixed_tokens : of what is neither line nor question: system text, tools, preferences, summary, reserve.
    styles : words of the request by name: tokenizer, speaker_style, time_style, stored_system_rows, semantic_scope.
    flags : those that were set, by name.
    answered_seq : what the request said that the question replies to; 0: it did not say.
    lost : what else it was asked with, by name: that is not kept.
    """

    upto_seq: int
    asked_at_ms: int | None = None
    overrides: Overrides = Overrides()
    layout: Layout = Layout.TURNS
    payload_format: str = ""
    fixed_tokens: int = 0
    time_zone: str = "UTC"
    thread_id: str | None = None
    session_id: str = ""
    self_ids: tuple[str, ...] = ()
    styles: dict[str, int | str] = msgspec.field(default_factory=dict)
    flags: tuple[str, ...] = ()
    answered_seq: int = 0
    lost: tuple[str, ...] = ()


class UsageRecord(msgspec.Struct, frozen=True):
    """A build as it is recorded.

    Messages are named by their arrival numbers, so that a record says nothing of a message that is erased.

    Attributes
    ----------
    trigger_message_id : the message that asks; empty: the question was not stored.
    context : arrival numbers of the shown messages of the build's channel, ascending.
    candidates : all of the build's channel that were scored, packed (`pack_candidates`).
    foreign : those of other channels.
    policy_id : names the profile with everything a request or a channel changed of it.
    tokens : of the payload, all of it.
    token_budget : what it could have been.
    build_us : microseconds the build took.
    exploration : how places were drawn; None: nothing was left to chance.
    knows_parent : what the question answers was known.
    asked_with : what else it was asked with; None: it was recorded before that was kept.
    """

    context_id: str
    user_id: str
    trigger_message_id: str
    context: tuple[int, ...]
    candidates: bytes
    profile: str
    policy_id: str
    created_at_ms: int
    asked_at_ms: int
    rung: Rung
    degradations: tuple[Degradation, ...]
    tokens: int
    token_budget: int
    build_us: int
    foreign: tuple[ForeignMessage, ...] = ()
    exploration: Exploration | None = None
    trial: Trial = NO_TRIAL
    knows_parent: bool = True
    asked_with: AskedWith | None = None


class Chances(NamedTuple):
    """What a draw is known by of each of m candidates.

    Attributes
    ----------
    features : float64[m, f]
    inclusion : float64[m]
        The probability to be chosen.
    drawn : bool[m]
        Whether it was, be it that the budget had no room for it.
    """

    features: NDArray[np.float64]
    inclusion: NDArray[np.float64]
    drawn: NDArray[np.bool_]


def pack_candidates(
    seqs: NDArray[np.int64],
    scores: NDArray[np.float64],
    fates: NDArray[np.uint8],
    chances: Chances | None = None,
) -> bytes:
    """M candidates as a JSON object of parallel arrays: arrival numbers, scores to four digits, places in `FATES`.

    Of a draw features and probabilities are kept to seven digits, as float32 has them: others are computed from them.
    """
    columns: dict[str, object] = {
        "seq": seqs.copy(),
        "score": scores.round(4).astype("float32"),
        "fate": fates.copy(),
    }
    if chances is not None:
        columns["features"] = chances.features.astype("float32", order="C")
        columns["inclusion"] = chances.inclusion.astype("float32")
        columns["drawn"] = chances.drawn.nonzero()[0]
    return orjson.dumps(columns, option=orjson.OPT_SERIALIZE_NUMPY)


class PackedCandidate(NamedTuple):
    """A candidate of a record by its arrival number. The last three only of a draw (`Chances`)."""

    seq: int
    score: float
    fate: Fate
    features: tuple[float, ...] = ()
    inclusion: float | None = None
    drawn: bool = False


def unpack_candidates(packed: bytes) -> list[PackedCandidate]:
    """Those that `pack_candidates` packed."""
    columns = orjson.loads(packed)
    rows = zip(columns["seq"], columns["score"], columns["fate"], strict=True)
    if "drawn" not in columns:
        return [PackedCandidate(seq, float(score), FATES[fate]) for seq, score, fate in rows]
    drawn = set(columns["drawn"])
    chances = zip(columns["features"], columns["inclusion"], strict=True)
    return [
        PackedCandidate(
            seq, float(score), FATES[fate], tuple(map(float, features)), float(share), place in drawn
        )
        for place, ((seq, score, fate), (features, share)) in enumerate(
            zip(rows, chances, strict=True)
        )
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredUsage:
    """A record as it is read.

    Attributes
    ----------
    number : grows in the order of recording.
    reply_seq : the arrival number of the stored answer; None: none is known.
    user_feedback, success_indicator : the newest text, and the mean value, of what was said in as many words.
    """

    number: int
    channel: str
    record: UsageRecord
    reply_seq: int | None = None
    user_feedback: str | None = None
    success_indicator: float | None = None


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """A page of a tenant's records. All conditions must hold; empty or None means any. A `context_id` names one.

    `since_ms` inclusive, `until_ms` exclusive; `before`, `after`: numbers, exclusive. `trigger_message_id` or
    `reply_seq` are of `channel`: one of them. `arm` is of `experiment_id`. Without `with_shadows` builds that were made
    behind the answers are left out, but for one that is named. `allowed`: of these channels alone; None: of all.
    """

    channel: str = ""
    user_id: str = ""
    context_id: str = ""
    trigger_message_id: str = ""
    reply_seq: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    limit: int = 100
    newest_first: bool = False
    before: int | None = None
    after: int | None = None
    experiment_id: str = ""
    arm: str = ""
    with_shadows: bool = False
    allowed: AllowedChannels | None = None


ANY_USAGE = UsageQuery()
