"""Conversations in the format of OpenAI's chat API: fine-tuning files (one conversation a line), or a list of messages.

They have no ids, authors or times. An id is made of a message and all before it in its conversation, so that a longer
conversation adds only what is new; each conversation is a session of its own.
"""

import json
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from typing import ClassVar

from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.importers.items import (
    BadRecord,
    Item,
    Options,
    Place,
    Read,
    Record,
    first_text,
    guarded,
    items_of,
)
from backscroll_sidecar.importers.json_records import of_document, of_lines
from backscroll_sidecar.importers.looks import Look, look
from backscroll_sidecar.importers.message_parts import BOT, HUMAN, SYSTEM, draft
from backscroll_sidecar.importers.native import add_content
from backscroll_sidecar.importers.sources import Source

ROLES = {
    "user": pb.ROLE_USER, "assistant": pb.ROLE_ASSISTANT, "system": pb.ROLE_SYSTEM, "developer": pb.ROLE_SYSTEM,
    "tool": pb.ROLE_TOOL, "function": pb.ROLE_TOOL,
}  # fmt: skip


class OpenAiChat:
    """Messages as OpenAI's API takes them."""

    name: ClassVar[str] = "openai"
    label: ClassVar[str] = "messages in the format of OpenAI's chat API"

    def fits(self, look: Look) -> bool:
        first = look.first
        inner = first.get("messages")
        if isinstance(inner, list):
            return bool(inner) and all(
                isinstance(one, dict) and _is_role(one.get("role")) for one in inner
            )
        own = {"id", "message_id", "author", "user_id", "timestamp", "sent_at_ms"}
        return (
            look.kind in {"array", "object"}
            and _is_role(first.get("role"))
            and not first.keys() & own
        )

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        del options  # nothing here has a time
        seen = look(source)
        times_seen: dict[bytes, int] = {}
        if seen.kind == "lines":
            yield from items_of(of_lines(source), partial(_conversation, times_seen))
        elif isinstance(seen.first.get("messages"), list):
            found = of_document(source, ("item",), "conversation")
            yield from items_of(found, partial(_conversation, times_seen))
        else:
            found = of_document(source, ("item", "messages.item"))
            yield from items_of(found, Conversation(times_seen).items)


def _conversation(seen: dict[bytes, int], place: Place, record: Record) -> Iterator[Item]:
    inner = record.get("messages")
    if not isinstance(inner, list):
        raise BadRecord("no messages")
    conversation = Conversation(seen)
    for message in inner:
        yield from guarded(conversation.items(place, message), place)


def _is_role(value: object) -> bool:
    return isinstance(value, str) and value in ROLES


class Conversation:
    """One conversation, in order. `seen` counts the beginnings that several conversations share."""

    def __init__(self, seen: dict[bytes, int]) -> None:
        self._seen = seen
        self._chain = b""
        self._session = ""

    def items(self, place: Place, said: object) -> Iterator[Item]:
        if not isinstance(said, dict) or not _is_role(said.get("role")):
            raise BadRecord("a message has no role that we know")
        role = str(said["role"])
        whole = json.dumps(said, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
        self._chain = blake2b(self._chain + whole, digest_size=12).digest()
        if not self._session:
            count = self._seen[self._chain] = self._seen.get(self._chain, 0) + 1
            self._session = self._chain.hex() + (f"-{count}" if count > 1 else "")
        kind = SYSTEM if ROLES[role] == pb.ROLE_SYSTEM else HUMAN if role == "user" else BOT
        author = first_text(said, "name") if role == "user" else ""
        author = author or {HUMAN: "user", BOT: "assistant", SYSTEM: "system"}[kind]
        number = f"{self._session}-{self._chain.hex()}"
        message = draft(number, "", author, author, kind)
        message.role = ROLES[role]
        message.session_id = self._session
        _content(said, message)
        yield Read(place, message)


def _content(said: Record, message: pb.Message) -> None:
    if message.role == pb.ROLE_TOOL:
        result = message.parts.add().tool_result
        result.call_id = first_text(said, "tool_call_id", "name")
        result.name = first_text(said, "name")
        content = said.get("content")
        result.text = (
            content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        )
        return
    if said.get("content") is not None:
        add_content(message, said["content"])
    calls = said.get("tool_calls") or (
        [{"function": said["function_call"]}] if said.get("function_call") else []
    )
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not function.get("name"):
            raise BadRecord("a tool call has no function.name")
        part = message.parts.add().tool_call
        part.id = str(call.get("id") or function["name"])
        part.name = str(function["name"])
        arguments = function.get("arguments")
        part.arguments_json = (
            arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        )
