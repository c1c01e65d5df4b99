"""Times as chat logs write them, in milliseconds since the epoch. Pure but for the time zone of the machine."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Literal

TimeUnit = Literal["auto", "s", "ms", "us"]
DateOrder = Literal["auto", "dmy", "mdy", "ymd"]
UNITS = {"s": 1_000.0, "ms": 1.0, "us": 1e-3}
"""Milliseconds a unit."""
MIN_MILLISECONDS = 10_000_000_000
"""A time below this, April 1970 in milliseconds, is taken for seconds by mistake."""
_LEAST_MS, _LEAST_US, _LEAST_NS = 1e11, 1e14, 1e17
"""A number is seconds below the first, until the year 5138, and milliseconds, microseconds, nanoseconds above."""
_MOST = 2**63 - 1
"""The contract's times are no larger."""
_NUMBER = re.compile(r"[+-]?\d{1,64}(?:\.\d{1,64})?")


class BadTime(ValueError):
    """A value is no time; the text says why."""


@dataclass(frozen=True, slots=True)
class Times:
    """How times are read.

    Parameters
    ----------
    unit : TimeUnit
        Of numbers; "auto": by their size.
    zone : tzinfo, optional
        Of times that say none. None: refused in machine-made files, this machine's in what people read.
    order : DateOrder
        Of day, month and year in texts; "auto": by the dates of the file.
    first_day : date, optional
        The day a log begins that tells hours only.
    """

    unit: TimeUnit = "auto"
    zone: tzinfo | None = None
    order: DateOrder = "auto"
    first_day: date | None = None

    def milliseconds(self, value: object, field: str = "timestamp") -> int:
        """A number, a number as text, or ISO 8601.

        Raises
        ------
        BadTime
            It is none of them, or says no offset and no zone is set.
        """
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value) if "." in value else int(value)
        if isinstance(value, str):
            return self._of_text(value.strip(), field)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadTime(f"{field} is neither a number nor ISO 8601")
        if not (abs(value) <= _MOST and abs(value) * UNITS.get(self.unit, 1.0) <= _MOST):
            raise BadTime(f"{field} is out of range")
        scale = self._scale(abs(value))
        return value if scale == 1 and isinstance(value, int) else round(value * scale)

    def wall(self, when: datetime) -> int:
        """A wall clock's time without a zone, where people wrote it."""
        if when.tzinfo is None:
            when = when.replace(tzinfo=self.zone) if self.zone else when.astimezone()
        return round(when.timestamp() * 1000)

    def zone_name(self) -> str:
        """The zone that `wall` takes, by name."""
        return (
            str(self.zone)
            if self.zone
            else f"this machine's, {datetime.now(UTC).astimezone().tzname()}"
        )

    def _scale(self, size: float) -> float:
        if self.unit != "auto":
            return UNITS[self.unit]
        if size < _LEAST_MS:
            return UNITS["s"]
        return 1.0 if size < _LEAST_US else UNITS["us"] if size < _LEAST_NS else 1e-6

    def _of_text(self, text: str, field: str) -> int:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise BadTime(f"{field} is neither a number nor ISO 8601") from None
        if at.tzinfo is None:
            if self.zone is None:
                raise BadTime(f"{field} has no offset from UTC; give --time-zone")
            at = at.replace(tzinfo=self.zone)
        return round(at.timestamp() * 1000)
