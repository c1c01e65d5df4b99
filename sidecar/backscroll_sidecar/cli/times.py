"""Times as options are given them."""

from datetime import datetime

from backscroll_sidecar.cli.console import usage
from backscroll_sidecar.importers.times import MIN_MILLISECONDS

EXAMPLE = "for example 2026-11-21T09:30:00+08:00"


def milliseconds(text: str | None, option: str) -> int | None:
    """Milliseconds since the epoch of an option's value: they themselves, or ISO 8601 with an offset."""
    if text is None:
        return None
    if text.isdecimal():
        if 0 < int(text) < MIN_MILLISECONDS:
            usage(f"{option} {text} looks like seconds", "milliseconds are wanted")
        return int(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        usage(f"{option} {text} is no time", f"{EXAMPLE}, or milliseconds")
    if at.tzinfo is None:
        usage(f"{option} {text} has no offset from UTC", EXAMPLE)
    return round(at.timestamp() * 1000)
