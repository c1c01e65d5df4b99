"""An export of usage records (`backscroll records export`), read: the one place that knows the file."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from google.protobuf.json_format import ParseDict, ParseError

from backscroll.v1.admin_pb2 import UsageRecord
from backscroll.v1.context_pb2 import RUNG_RANKED
from backscroll.v1.feedback_pb2 import SIGNAL_KIND_FEEDBACK, SignalKind
from backscroll.v1.feedback_pb2 import Signal as SignalLine
from backscroll_sidecar.cli.console import usage
from backscroll_sidecar.learning.rated_builds import RatedBuild, draw_of
from backscroll_sidecar.learning.rewards import reward_of
from backscroll_sidecar.ports import Signal
from backscroll_sidecar.ports import SignalKind as Kind

GZIP_MAGIC = b"\x1f\x8b"
VERSION = 1


def exported_records(path: Path) -> Iterator[UsageRecord]:
    """The records of a file, plain or gzip. A line that is none is told as a wrong call, with its number."""
    if not path.is_file():
        usage(f"{path}: there is no such file")
    with path.open("rb") as file:
        packed = file.read(2) == GZIP_MAGIC
    with gzip.open(path, "rb") if packed else path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _record(line, f"{path}:{number}")


def _record(line: bytes, where: str) -> UsageRecord:
    try:
        told = json.loads(line)
        if (version := told.pop("version")) != VERSION:
            words = f"{where}: has version {version}, not {VERSION}"
            usage(words, "Export it again with this release.")
        return ParseDict(told, UsageRecord(), ignore_unknown_fields=True)
    except (ValueError, KeyError, TypeError, AttributeError, ParseError):
        usage(f"{where}: is no usage record", "Give what backscroll records export wrote.")


class _Weighed(NamedTuple):
    """A candidate as `draw_of` takes it."""

    features: tuple[float, ...]
    inclusion: float
    drawn: bool


def rated_build(record: UsageRecord) -> RatedBuild:
    """A record as tuning reads it."""
    signals = [_signal(one) for one in record.signals]
    reward = reward_of(signals)
    raters = [one.user_id for one in record.signals if one.kind == SIGNAL_KIND_FEEDBACK]
    drawn = record.exploration if record.HasField("exploration") else None
    pool = [
        _Weighed(tuple(one.features), one.inclusion_probability, one.drawn)
        for one in record.candidates
        if one.HasField("inclusion_probability")
    ]
    return RatedBuild(
        record.created_at_ms,
        reward.value if reward is not None and reward.is_explicit else None,
        raters[-1] if raters else "",
        record.token_count,
        record.build_microseconds,
        record.rung == RUNG_RANKED,
        None
        if drawn is None or drawn.seed_given
        else draw_of(drawn.probability, drawn.temperature, pool),
    )


def _signal(one: SignalLine) -> Signal:
    kind = Kind(SignalKind.Name(one.kind).removeprefix("SIGNAL_KIND_").lower())
    value = one.value if one.HasField("value") else None
    return Signal(kind, one.user_id, one.message_id, value, one.confidence, one.at_ms)
