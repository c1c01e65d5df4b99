"""What a room is made of: a file with personas and their mode, or the cats that come with us."""

import json
import locale
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backscroll import Participant, Persona, RoomPolicy
from backscroll_sidecar.cli.console import os_words, usage

KEYS = ("personas", "people", "mode", "role_config", "policy", "title")
EXAMPLE = '{"personas": [{"id": "tom", "name": "Tom", "persona": "You are a lazy cat."}], "mode": "free_chat"}'

_CATS = {
    "en": (
        Persona("tom", "Tom", "You are Tom, a lazy black cat. You answer in one or two sentences.",
                summary="a lazy black cat"),
        Persona("kit", "Kit", "You are Kit, a strict white cat who checks what others say. You are brief.",
                summary="a strict white cat"),
        Persona("ash", "Ash", "You are Ash, a cheerful young grey cat who tries everything out. You are brief.",
                summary="a cheerful grey cat"),
    ),
    "zh": (
        Persona("black", "小黑", "你是小黑，一只爱写代码的黑猫，说话懒洋洋的，回答一两句话。", summary="写代码的黑猫"),
        Persona("white", "小白", "你是小白，一只挑剔的白猫，负责评审，说话简短。", summary="评审的白猫"),
        Persona("grey", "小灰", "你是小灰，一只活泼的灰猫，什么都要试一试，说话简短。", summary="测试的灰猫"),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RoomFile:
    """What a session begins with."""

    participants: tuple[Participant, ...]
    mode: str = ""
    role_config: dict[str, Any] = field(default_factory=dict)
    policy: RoomPolicy | None = None
    title: str = ""


def cats() -> RoomFile:
    """The room that needs no file, in Chinese where that is spoken here, else in English."""
    language = "zh" if _spoken_here().lower().startswith("zh") else "en"
    return RoomFile(_CATS[language], policy=RoomPolicy(language=language))


def _spoken_here() -> str:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return value
    return locale.getlocale()[0] or ""


def room_file(path: Path) -> RoomFile:
    """Read a file. What is wrong with it is a wrong call that says what to write."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        usage(f"{os_words(error)}", "give a JSON or TOML file, or none for a room of three cats")
    except UnicodeDecodeError:
        usage(f"{path} is no text in UTF-8", "save it as UTF-8")
    try:
        given = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        usage(f"{path} is no {kind}: {error}", f"such as: {EXAMPLE}")
    if not isinstance(given, dict):
        usage(f"{path} holds no object", f"such as: {EXAMPLE}")
    if unknown := given.keys() - set(KEYS):
        usage(
            f"{path} has {min(unknown)!r}, which says nothing here",
            f"it may have {', '.join(KEYS)}",
        )
    people = _made(path, "people", Participant, given.get("people", []))
    personas = _made(path, "personas", Persona, given.get("personas", []))
    if not personas:
        usage(f"{path} has no personas", f"such as: {EXAMPLE}")
    policy = _made(path, "policy", RoomPolicy, [given["policy"]]) if given.get("policy") else [None]
    return RoomFile(
        (*personas, *people),
        _word(path, "mode", given),
        given.get("role_config", {}),
        policy[0],
        _word(path, "title", given),
    )


def _made(path: Path, key: str, kind: type[Any], values: Any) -> list[Any]:  # noqa: ANN401 - of JSON
    if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
        usage(f"{key} of {path} is no list of objects", f"such as: {EXAMPLE}")
    made = []
    for one in values:
        try:
            made.append(kind(**one))
        except (TypeError, ValueError) as error:
            words = str(error).replace(f"{kind.__name__}.__init__() ", "")
            usage(f"{key} of {path}: {words}", f"such as: {EXAMPLE}")
    return made


def _word(path: Path, key: str, given: dict[str, Any]) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        usage(f"{key} of {path} is no text")
    return value
