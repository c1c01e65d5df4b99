"""The modes that a server knows: its own, and the operator's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.sessions.modes.base import ActionRefused, Mode, Table
from backscroll_sidecar.sessions.modes.free_chat import FreeChat
from backscroll_sidecar.sessions.modes.quiz import Quiz
from backscroll_sidecar.sessions.modes.werewolf import Werewolf
from backscroll_sidecar.sessions.modes.workflow import Workflow

BUILTIN: tuple[Mode, ...] = (FreeChat(), Workflow(), Werewolf(), Quiz())


class Modes:
    """Modes by name. `own`: the operator's; one that has the name of a built-in mode takes its place."""

    def __init__(self, own: Iterable[Mode] = ()) -> None:
        self._by_name: Mapping[str, Mode] = {one.name: one for one in (*BUILTIN, *own)}

    def __iter__(self) -> Iterator[Mode]:
        return iter(sorted(self._by_name.values(), key=lambda one: one.name))

    def find(self, name: str, field: str = "mode") -> Mode:
        """The mode of this name. Raises `InvalidRequest` with UNKNOWN_MODE, which lists those that are known."""
        if name not in self._by_name:
            raise InvalidRequest(
                "no mode has this name",
                field=field,
                reason=Reason.UNKNOWN_MODE,
                metadata={"known": ", ".join(sorted(self._by_name))},
            )
        return self._by_name[name]


def config_of(mode: Mode, role_config_json: str) -> Any:
    """The mode's configuration. Raises `InvalidRequest` that names the field at fault."""
    return _decoded(mode.config_type, role_config_json or "{}", "role_config")


def state_of(mode: Mode, mode_state_json: str) -> Any:
    """The mode's state. Raises `InvalidRequest` that names the field at fault."""
    return _decoded(mode.state_type, mode_state_json or "{}", "mode_state")


def encoded(value: Any) -> str:
    """A configuration or a state as JSON."""
    return msgspec.json.encode(value).decode()


def begun(mode: Mode, config: Any, table: Table, seed: int) -> Any:
    """The state a session begins with. Raises `InvalidRequest` where the configuration does not fit the table."""
    try:
        return mode.begin(config, table, seed)
    except ActionRefused as refused:
        raise InvalidRequest(refused.message, field=refused.field) from refused


def checked(mode: Mode, config: Any, state: Any, table: Table) -> Any:
    """A state that somebody gave. Raises `InvalidRequest` where the mode cannot go on from it."""
    try:
        mode.check(config, state, table)
    except ActionRefused as refused:
        is_config = refused.field.startswith("role_config")
        field = refused.field if is_config else "mode_state_json"
        raise InvalidRequest(refused.message, field=field) from refused
    return state


def schema_of(type_: type[Any]) -> str:
    """The JSON Schema of a configuration or a state."""
    return msgspec.json.encode(msgspec.json.schema(type_)).decode()


def _decoded(type_: type[Any], text: str, field: str) -> Any:
    try:
        return msgspec.json.decode(text, type=type_)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        where = f"{field}{path.rstrip('`')}"
        raise InvalidRequest(f"{where}: {message}", field=where) from error
    except msgspec.DecodeError as error:
        raise InvalidRequest(f"{field} is no JSON object", field=field) from error
