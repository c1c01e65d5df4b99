"""Numbers and times as a page writes them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

_LENGTHS = (("y", 31_557_600), ("d", 86_400), ("h", 3_600), ("m", 60))


def age(then_ms: int, now_ms: int) -> str:
    """How long before, in at most four characters, with a plus for later; nothing where no time is known."""
    if then_ms <= 0 or now_ms <= 0:
        return ""
    seconds = (now_ms - then_ms) / 1000
    sign, seconds = ("+", -seconds) if seconds < 0 else ("", seconds)
    for unit, length in _LENGTHS:
        if seconds >= length:
            return f"{sign}{int(seconds // length)}{unit}"
    return f"{sign}{int(seconds)}s"


def moment(at_ms: int) -> str:
    """A time in UTC, to the second; nothing for none, and for one that no calendar has."""
    if at_ms <= 0:
        return ""
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return str(at_ms)


def score(value: float) -> str:
    """Two digits behind the point; one that counts where those are noughts, as .004."""
    if not value:
        return "0"
    text = f"{value:.2f}" if abs(value) >= 0.005 else f"{value:.1g}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def signed(value: float) -> str:
    """The same with its sign, a true minus; what is less than a thousandth is nothing."""
    text = score(abs(value)) if abs(value) >= 0.0005 else "0"
    return text if text == "0" else f"{'−' if value < 0 else '+'}{text}"
