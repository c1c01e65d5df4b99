"""Folders of sessions as an older system keeps them: ``logs/threads/{slug}/sessions/{id}``, before that
``logs/threads/{id}``. Each holds ``meta.json`` and ``messages.jsonl``.

Names of folders are percent-encoded where an id could leave its place: ``/``, dots at the ends, control characters.
What is too long for a name becomes a digest, and the id stands in ``meta.json`` alone. Times without an offset are UTC.
"""

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.cli.session_records import (
    made_id,
    message_of,
    milliseconds,
    record_of_message,
    time_of,
    word_of,
)
from backscroll_sidecar.domain import (
    Message,
)
from backscroll_sidecar.importers.items import BadRecord
from backscroll_sidecar.importers.json_records import parsed

META, MESSAGES = "meta.json", "messages.jsonl"
MAX_NAME_BYTES = 200
_DIGEST = "%~"
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%\ud800-\udfff]|\A\.|[. ]\Z')
_META_KEYS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "session_id", "sessionId"),
    "mode": ("mode",),
    "mode_state": ("mode_state", "modeState"),
    "role_config": ("role_config", "roleConfig"),
    "created_at_ms": ("created_at", "createdAt", "created_at_ms"),
    "updated_at_ms": ("updated_at", "updatedAt", "updated_at_ms"),
    "thread_slug": ("thread_slug", "threadSlug", "parent_thread", "parentThread", "thread"),
    "project_id": ("project_id", "projectId"),
    "title": ("title",),
}
"""Fields of `SessionMeta`, and how files spell them. The first is how they are written."""


class SessionFolder(msgspec.Struct, frozen=True):
    """Where a session is. `slug` None: the older form. `passed_over`: the older form of it, which is there, too."""

    slug: str | None
    session_id: str
    path: Path
    passed_over: tuple[Path, ...] = ()


class Problem(msgspec.Struct, frozen=True):
    """What was not taken as it stands. `line` counts from 1; 0: it is about the whole file or folder."""

    where: str
    why: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.where}{f', line {self.line}' if self.line else ''}: {self.why}"


class SessionMeta(msgspec.Struct, frozen=True):
    """What ``meta.json`` says. `extra` are its other keys, and values that could not be read. Times 0: not told."""

    id: str
    mode: str = ""
    mode_state: dict[str, Any] = {}
    role_config: dict[str, Any] = {}
    created_at_ms: int = 0
    updated_at_ms: int = 0
    thread_slug: str = ""
    project_id: str = ""
    title: str = ""
    extra: dict[str, Any] = {}


class ReadSession(msgspec.Struct, frozen=True):
    """A session. Its messages are in the order of the file, with `session_id` set and without a channel."""

    meta: SessionMeta
    messages: tuple[Message, ...] = ()
    problems: tuple[Problem, ...] = ()


def find_sessions(root: Path) -> list[SessionFolder]:
    """Every session below `root`, in the order of slugs and ids. Of one in both forms, the newer form."""
    found: list[SessionFolder] = []
    older: dict[str, Path] = {}
    for thread in _folders_in(root / "logs" / "threads"):
        if _is_session(thread):
            older[_id_of(thread)] = thread
        for path in filter(_is_session, _folders_in(thread / "sessions")):
            slug = _decoded(thread.name)
            if slug is None:
                slug = _meta_of(path)[0].get("thread_slug", thread.name)
            found.append(SessionFolder(slug, _id_of(path), path))
    found.sort(key=lambda one: (one.slug or "", one.session_id))
    for place, one in enumerate(found):
        if one.session_id in older:
            passed_over = (older.pop(one.session_id),)
            found[place] = replace(one, passed_over=passed_over)
    return [SessionFolder(None, one, older[one]) for one in sorted(older)] + found


def read_session(folder: SessionFolder) -> ReadSession:
    """A session as it stands in its folder. What cannot be read is among its problems, and left out.

    Raises
    ------
    OSError
        A file cannot be read.
    """
    fields, problems = _meta_of(folder.path)
    problems += [
        Problem(str(path), "the older form of the session, which was passed over")
        for path in folder.passed_over
    ]
    for name, true in (("id", folder.session_id), ("thread_slug", folder.slug)):
        if true is not None and fields.get(name, true) != true:
            problems.append(Problem(META, f"{name} is not that of the folder, which counts"))
    slug = folder.slug or fields.get("thread_slug", "")
    fields |= {"id": folder.session_id, "thread_slug": slug}
    messages: dict[str, Message] = {}
    for number, raw in _lines_of(folder.path / MESSAGES):
        try:
            id_ = made_id(folder.session_id, number, raw)
            message = message_of(parsed(raw), id_, folder.session_id)
        except BadRecord as error:
            problems.append(Problem(MESSAGES, str(error), number))
            continue
        known = messages.get(message.id)
        if known is not None and known.text == message.text:
            problems.append(Problem(MESSAGES, "the same message again", number))
            continue
        if known is not None:
            problems.append(Problem(MESSAGES, "an id that another message has", number))
            message = replace(message, id=id_)
        messages[message.id] = message
    return ReadSession(SessionMeta(**fields), tuple(messages.values()), tuple(problems))


def write_session(root: Path, session: ReadSession, *, legacy: bool = False) -> Path:
    """Write a session, and where to. One without a thread is written in the older form, as `legacy` ones are.

    A new folder appears with all its files at once. In one that is there, each of the two files is replaced at once,
    and others stay.

    Raises
    ------
    ValueError
        The session has no id, or the place is a link out of `root`.
    OSError
        It cannot be written; a new folder is not there, then.
    """
    meta, threads = session.meta, root / "logs" / "threads"
    if not meta.id:
        raise ValueError("a session without an id has no folder")
    is_older = legacy or not meta.thread_slug
    parent = threads if is_older else threads / _encoded(meta.thread_slug) / "sessions"
    folder = parent / _encoded(meta.id)
    if not folder.resolve().is_relative_to(root.resolve()):
        raise ValueError(f"{folder} is a link out of {root}")
    parent.mkdir(parents=True, exist_ok=True)
    lines = map(record_of_message, session.messages)
    files = {
        MESSAGES: b"".join(_json(line) + b"\n" for line in lines),
        META: _json(_record_of_meta(meta), indent=2) + b"\n",
    }
    is_new = not folder.exists()
    target = parent / f".{uuid.uuid4().hex}.new" if is_new else folder
    try:
        target.mkdir(exist_ok=True)
        for name, content in files.items():
            _replace(target / name, content)
        if is_new:
            target.rename(folder)
    finally:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
    return folder


def _replace(path: Path, content: bytes) -> None:
    new = path.with_name(f".{uuid.uuid4().hex}.new")
    try:
        with new.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _folders_in(path: Path) -> list[Path]:
    """Hidden ones are being written, and no sessions."""
    if not path.is_dir():
        return []
    return sorted(one for one in path.iterdir() if one.name[0] != "." and one.is_dir())


def _is_session(path: Path) -> bool:
    return (path / META).is_file() or (path / MESSAGES).is_file()


def _id_of(path: Path) -> str:
    session_id = _decoded(path.name)
    return session_id if session_id is not None else _meta_of(path)[0].get("id") or path.name


def _encoded(name: str) -> str:
    """An id as the name of a folder; an empty one has none."""
    encoded = _UNSAFE.sub(
        lambda found: "".join(f"%{one:02X}" for one in found[0].encode("utf-8", "surrogatepass")),
        name,
    )
    if len(encoded.encode()) <= MAX_NAME_BYTES:
        return encoded
    return _DIGEST + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _decoded(name: str) -> str | None:
    """The inverse; a name that was never encoded is as it is. None: it is a digest."""
    if name.startswith(_DIGEST):
        return None
    decoded = unquote(name, errors="replace") if "%" in name else name
    return decoded if _encoded(decoded) == name else name


def _lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, by their numbers; none where there is no file."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            raw = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if raw.strip():
                yield number, raw


def _meta_of(path: Path) -> tuple[dict[str, Any], list[Problem]]:
    """The fields of `SessionMeta` that ``meta.json`` tells, and what is wrong with it."""
    try:
        record = parsed((path / META).read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except FileNotFoundError:
        return {}, [Problem(META, "there is none")]
    except BadRecord as error:
        return {}, [Problem(META, str(error))]
    fields: dict[str, Any] = {}
    problems = []
    for field, spellings in _META_KEYS.items():
        key = next((one for one in spellings if record.get(one) is not None), None)
        if key is None:
            continue
        value = _meta_value(field, record[key])
        if value is None:
            problems.append(Problem(META, f"{key} cannot be read"))
        else:
            fields[field] = value
            del record[key]
    return {**fields, "extra": record}, problems


def _meta_value(field: str, value: Any) -> Any:  # noqa: ANN401 - of JSON
    """The value of a field; None: it is none."""
    if field.endswith("_ms"):
        return milliseconds(value)
    if field in ("mode_state", "role_config"):
        return value if isinstance(value, dict) else None
    if field == "thread_slug" and isinstance(value, dict):
        value = next((value[key] for key in ("slug", "id") if value.get(key)), None)
    return word_of(value)


def _record_of_meta(meta: SessionMeta) -> dict[str, Any]:
    record = {}
    for field, (key, *_) in _META_KEYS.items():
        value = getattr(meta, field)
        if value or field == "id":
            record[key] = time_of(value) if field.endswith("_ms") else value
    return {**record, **{key: one for key, one in meta.extra.items() if key not in record}}


def _json(value: Any, indent: int | None = None) -> bytes:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8", "replace")
