r"""What a typed text may not look like: marks that the server writes itself, and control tokens of models. Pure.

A mark is ``[image: …]``, ``[call …]``, ``[result …]`` for what is no text, ``[2026-11-20]`` for the time, ``[bot]``;
at the start of a line, a speaker or a title. A typed one gets a backslash behind its bracket or before its colon:
``[\image: …]``, ``Assistant\: …``, ``Bob <u2>\: …``. A control token of a chat template is broken in the same way:
``<\|im_start|>``. Where backslashes stand there already it is one more, so that all can be read back.
Nothing else changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from backscroll_sidecar.domain import KNOWN_KINDS, Part, TextPart, render_part
from backscroll_sidecar.texts import TIMES, TITLES

BREAKS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
"""What ends a line to somebody."""
_UNSEEN = "\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_GAP = rf"[\s{_UNSEEN}]{{1,8}}"
"""A space, and what looks like one."""
_KINDS = "|".join(sorted(KNOWN_KINDS))
_TIMES = "|".join(re.escape(form).replace(r"\{n\}", r"\d+") for form in TIMES)
_IN_BRACKETS = rf"""(?i:{_KINDS})(?:\](?!\()|:[ ])
    | (?i:media){_GAP}[^\s\[\]:]{{0,64}}(?:\]|:\s)
    | (?i:call){_GAP}[^\s\[\]:]{{0,64}}\s
    | (?i:result|error){_GAP}[^\s\[\]:]{{0,64}}:\s
    | bot\] | \d{{4}}-\d\d-\d\d\] | (?:{_TIMES})\]"""
_CONTROL_IN_BRACKETS = r""" | /?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|SYSTEM_PROMPT|THINK
        |MODEL_SETTINGS|ARGS|CALL_ID|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|PREFIX|MIDDLE|SUFFIX
        |BOS|EOS|EOT|PAD|UNK|CLS|SEP|MASK|gMASK|sMASK|unused\d{1,4})\]
    | [|｜][A-Za-z_]{1,32}[|｜]\] | [a-z]~\[ | @BOS@\]"""
_CONTROL_IN_ANGLES = r"""(?:[|｜][^<>\[\s]{1,64}[|｜]> | \|[a-z_]{1,32}> | [a-z_]{1,32}\|>
    | /?(?:s|bos|eos|pad|unk|cls|sep|mask|sop|eop|eod|eoh|eoa|eom|eot|eoc|eor|think|tools?|image|IMG_CONTEXT|AI|用户
        |SYS|role|eos_token|BOS|EOS|EOT|EOD|PAD|UNK|CLS|SEP|MASK|SUF|MID|(?:BOS|EOS|EOP|MASK)_TOKEN
        |SPECIAL_\d{1,4}|TOKENS_UNUSED_\d{1,4}|start_of_[a-z]{1,16}|end_of_[a-z]{1,16}|image_soft_token
        |start_function_[a-z]{1,16}|end_function_[a-z]{1,16}|fim_[a-z]{1,16}|file_sep
        |_(?:user|bot|system|start|end|pad)|longcat_[a-z_]{1,32}
        |(?:seed|minimax):[a-z_]{1,32}|tool_calls?|tool_response|function_calls
        |unused_?\d{1,4}|reserved_\d{1,4}|extra_id_\d{1,3})>)"""
_CONTROL_BEHIND_BRACKETS = r"~!?b[\[\]] | ![pd]~\[ | <\][^<>\[\]]{1,64}\[>\["
"""MiniMax's, which begin with the other bracket: ``]~b]``, ``]~!b[``, ``]<]start of image[>[``."""
_LINE_START = (
    rf"""(?:\A|(?<=[{BREAKS}]))(?:[^\S{BREAKS}]|[{_UNSEEN}])*+(?:\[[^\[\]{BREAKS}]*\][ ]*)?+"""
)
_ROLES = "User", "Assistant", "System", "USER", "ASSISTANT", "SYSTEM"
"""Pasted settings have them in small letters, and stay."""
_LABEL = re.compile(
    rf"""(?P<head>{_LINE_START}(?:{"|".join(map(re.escape, (*_ROLES, *TITLES)))}))
    (?P<slashes>\\*)(?P<colon>:(?!\S)|：)""",
    re.VERBOSE,
)
_SPEAKER = re.compile(
    rf"""(?P<head>{_LINE_START}(?:[^\\<>:\[\]{BREAKS}]|\\.)*?
        <(?:[^\\<>:\[\]{BREAKS}]|\\.)*>(?:[ ]\[\\*bot\])?)(?P<slashes>\\*)(?P<colon>:)(?!\S)""",
    re.VERBOSE,
)


def _anywhere(*, with_control: bool) -> re.Pattern[str]:
    heads = rf"\[(?=\\*+(?:{_IN_BRACKETS}{_CONTROL_IN_BRACKETS if with_control else ''}))"
    if with_control:
        heads += rf"|<(?=\\*+(?:{_CONTROL_IN_ANGLES}))|\](?=\\*+(?:{_CONTROL_BEHIND_BRACKETS}))"
    return re.compile(rf"(?P<head>{heads})(?P<slashes>\\*)(?P<colon>)", re.VERBOSE)


_MARK = _anywhere(with_control=False)
ANYWHERE = _anywhere(with_control=True)
LINE_PATTERNS = _LABEL, _SPEAKER
_LABELS = (*_ROLES, *(one[:8] for one in TITLES))


def escape(text: str, *, keep_control: bool = False) -> str:
    """The text without anything that equals a mark or, unless they are kept, a control token; mostly itself."""
    for pattern in patterns(text, keep_control=keep_control):
        text = pattern.sub(r"\g<head>\g<slashes>\\\g<colon>", text)
    return text


def escape_marks(text: str, *, keep_control: bool = False) -> str:
    """The text without anything that equals a mark or a control token. Its lines must not begin in the first column."""
    pattern = _MARK if keep_control else ANYWHERE
    return pattern.sub(r"\g<head>\g<slashes>\\\g<colon>", text)


def escape_new(text: str, *, keep_control: bool = False) -> str:
    """The same for a text that was made of escaped ones: what has a backslash already stays as it is."""
    for pattern in patterns(text, keep_control=keep_control):
        text = pattern.sub(_escaped_once, text)
    return text


def _escaped_once(match: re.Match[str]) -> str:
    return match[0] if match["slashes"] else f"{match['head']}\\{match['colon']}"


def shown_parts(parts: Iterable[Part], *, keep_control: bool = False) -> str:
    """A message of several parts, or of one that is no text: what is no text as a mark, nothing in it escapes."""
    shown = (_shown_part(part, keep_control) for part in parts)
    return "\n".join(filter(None, shown))


def _shown_part(part: Part, keep_control: bool) -> str:
    escaped = escape(render_part(part), keep_control=keep_control)
    is_real = not isinstance(part, TextPart) and escaped.startswith("[\\")
    return "[" + escaped[2:] if is_real else escaped


def patterns(text: str, *, keep_control: bool = False) -> list[re.Pattern[str]]:
    """Those that a text goes through, in this order. Each finds the same places in what it made: it can be undone."""
    is_tagged = "<" in text
    passes = []
    if is_tagged or "[" in text or "]" in text:
        passes.append(_MARK if keep_control else ANYWHERE)
    if ":" in text or "：" in text:
        if any(one in text for one in _LABELS):
            passes.append(_LABEL)
        if is_tagged:
            passes.append(_SPEAKER)
    return passes
