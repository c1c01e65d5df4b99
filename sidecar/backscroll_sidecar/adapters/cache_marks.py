"""Where a vendor's prompt cache is told to end what it keeps. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from backscroll_sidecar.adapters.base import PayloadOptions
from backscroll_sidecar.adapters.target import family_of
from backscroll_sidecar.domain import NeutralMessage, Role

MOST_ANTHROPIC_MARKS = 4
"""A fifth one is refused. https://platform.claude.com/docs/en/build-with-claude/prompt-caching"""
FAR_MARK = 8
"""One of so many marks stays for long. The vendor looks for what it keeps 20 blocks before a mark at most. With the
last, the one before and a far one, two thirds of a prompt are found again where 40 or 60 messages come between two
questions, and half where 150 do.
"""
MOST_BREAKPOINTS = 80
"""The latest so many are looked at. https://developers.openai.com/api/docs/guides/prompt-caching"""
ANTHROPIC_MARK = {"cache_control": {"type": "ephemeral"}}
BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_OPENAI_HOST = "api.openai.com"
_VERSION = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?!\d)")
_KNOWN_SINCE = (5, 6)
_INPUT = (Role.USER, Role.SYSTEM)


def writes_breakpoints(api: str, options: PayloadOptions) -> bool:
    """Whether a payload may have OpenAI's marks: no other server, and no older model, is known to take them."""
    if not api.startswith("openai_"):
        return False
    host = options.provider.partition("/")[0]
    version = _VERSION.match(family_of(options.model))
    if version is None or host != _OPENAI_HOST:
        return False
    return (int(version[1]), int(version[2] or 0)) >= _KNOWN_SINCE


def breakpoints(messages: Sequence[NeutralMessage]) -> Container[int]:
    """The places of the messages with a breakpoint: of the model's own, which want their text plain, the input before
    has it.
    """
    places = dict[int, None]()
    newest = -1
    for at, one in enumerate(messages):
        if one.role in _INPUT and one.content.strip():
            newest = at
        if one.ends_prefix and newest >= 0:
            places[newest] = None
    return frozenset([*places][-MOST_BREAKPOINTS:])


def anthropic_marks(count: int, most: int) -> Container[int]:
    """Which of so many places have a mark: the last ones, and in place of the first of these the last far one."""
    chosen = [*range(count)][-most:]
    far = [n for n in range(count) if (n + 1) % FAR_MARK == 0 and n < chosen[0]] if chosen else []
    return frozenset([far[-1], *chosen[1:]] if far and len(chosen) == most else chosen)
