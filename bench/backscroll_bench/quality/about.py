"""What a set is, where it comes from, who may have it, and whether anybody looked at it while weights were chosen.

It stands beside the set's files, as ``SET.about.toml``: ``what``, ``origin``, ``licence``, and ``role``, which is
"development" or "held-out". ``note`` may say more. A set without such a file is of an unknown role.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from backscroll_bench.quality.rows import DataError

ROLES = ("development", "held-out")
UNTOLD = "not told"
_ENDING = re.compile(r"(\.messages)?\.jsonl(\.gz)?$")


@dataclass(frozen=True, slots=True)
class About:
    """Of one set. `role`: "development", "held-out" or "not told"."""

    what: str = UNTOLD
    origin: str = UNTOLD
    licence: str = UNTOLD
    role: str = UNTOLD
    note: str = ""


def read_about(messages: Path) -> About:
    """What is told of the set with this file of messages.

    Raises
    ------
    DataError
        What is told is no TOML, has another field, or another role than those there are.
    """
    stem = _ENDING.sub("", messages.name)
    path = messages.with_name(f"{stem}.about.toml")
    try:
        told = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return About()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(path, 0, "", f"cannot be read: {error}") from error
    known = {one.name for one in fields(About)}
    for name, value in told.items():
        if name not in known or not isinstance(value, str):
            raise DataError(path, 0, name, f"is no text of {', '.join(sorted(known))}")
    if told.get("role", UNTOLD) not in (*ROLES, UNTOLD):
        raise DataError(path, 0, "role", f"is one of {', '.join(ROLES)}")
    return About(**told)
