"""Pictures as vendors take them: by a link, or as data inside the payload. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from backscroll_sidecar.domain import MediaPart, NeutralMessage, Role

PICTURE_TOKENS = 1_600
"""The most that one picture costs, about: Anthropic scales down to 1,568 tokens, OpenAI's usual model has 1,445 at
most, Gemini 258 for each tile. https://platform.claude.com/docs/en/build-with-claude/vision
"""
MOST_PICTURES = 8
TOLD_PICTURE_TOKENS = 16
"""Of a picture that a vendor is told of in words, since it reads no links."""
PICTURE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""What all four vendors read."""
PICTURE_KINDS = ("image", "photo", "picture")
_DATA = re.compile(r"data:(image/[a-z]+);base64,([A-Za-z0-9+/]+={0,2})")
_LINK = re.compile(r"https://[!-~\u00a1-\ud7ff\uf900-\ufffd]+")


class Picture(NamedTuple):
    """A picture: its link, or, where that is empty, its type and its data in base64."""

    link: str
    media_type: str = ""
    data: str = ""

    @property
    def url(self) -> str:
        """The link, or a data URL."""
        return self.link or f"data:{self.media_type};base64,{self.data}"


def picture_of(part: MediaPart) -> Picture | None:
    """A medium as a picture; None where it is no picture, or none that can be sent."""
    if found := _DATA.fullmatch(part.uri):
        is_whole = found[1] in PICTURE_TYPES and len(found[2]) % 4 == 0
        return Picture("", found[1], found[2]) if is_whole else None
    is_image = part.kind.lower() in PICTURE_KINDS or part.mime.lower() in PICTURE_TYPES
    if part.mime and part.mime.lower() not in PICTURE_TYPES:
        return None
    return Picture(part.uri) if is_image and _LINK.fullmatch(part.uri) else None


def pictures_of(message: NeutralMessage) -> list[Picture]:
    """The pictures that a person shows."""
    if message.role is not Role.USER or not message.parts:
        return []
    media = [one for one in message.parts if isinstance(one, MediaPart)]
    return [one for one in map(picture_of, media) if one is not None]


def picture_tokens(part: MediaPart, linked_tokens: int) -> int:
    """What a picture costs, at most; `linked_tokens`: by a link, where it is told in words without those."""
    if part.uri.startswith("data:") or linked_tokens == PICTURE_TOKENS:
        return PICTURE_TOKENS
    return linked_tokens + len(part.alt_text.encode())  # no token is shorter than a byte
