"""What a copy of a session begins with: who saw what of it, and the state that held at one of its messages. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from backscroll_sidecar.domain import StoredMessage
from backscroll_sidecar.sessions.participants import Participant, Presence
from backscroll_sidecar.sessions.records import BEGUN, LoggedState
from backscroll_sidecar.sessions.session import Session


class Place(NamedTuple):
    """A message that was copied: its number where it comes from, None where that is not known, and its new one."""

    old: int | None
    new: int


class HeldState(NamedTuple):
    """A mode, how it was set, and where it stood."""

    mode: str
    role_config_json: str
    mode_state_json: str


def moved(one: Participant, places: Sequence[Place]) -> Participant:
    """The participant in the copy: it took part when the same messages were said. `places`: by their new numbers."""
    stays = tuple(stay for each in one.presences for stay in _moved(each, places))
    return replace(one, presences=stays)


def _moved(one: Presence, places: Sequence[Place]) -> list[Presence]:
    if one.after_seq is None and one.until_seq is None:
        return [one]
    stays: list[Presence] = []
    after: int | None = None
    last = 0
    is_there = one.after_seq is None
    for old, new in places:
        is_of_it = _is_of(one, old)
        if is_of_it and not is_there:
            after = new - 1
        elif is_there and not is_of_it:
            stays.append(replace(one, after_seq=after, until_seq=last))
        is_there, last = is_of_it, new
    until = None if one.until_seq is None else last
    if is_there:
        stays.append(replace(one, after_seq=after, until_seq=until))
    elif until is None or not stays:
        stays.append(replace(one, after_seq=last, until_seq=until))
    return stays


def _is_of(one: Presence, seq: int | None) -> bool:
    """Whether a message is of a presence that has bounds by numbers; one of no known number is of none."""
    if seq is None:
        return False
    return (one.after_seq is None or seq > one.after_seq) and (
        one.until_seq is None or seq <= one.until_seq
    )


def as_of(one: Participant, seq: int) -> Participant:
    """The participant as it was when the message of this number was the last: who left later was there."""
    if not one.presences:
        return one
    stays = [
        replace(each, until_seq=None)
        if each.until_seq is not None and each.until_seq > seq
        else each
        for each in one.presences
        if each.after_seq is None or each.after_seq < seq or not each.is_over
    ]
    return replace(one, presences=tuple(stays) or (Presence(after_seq=seq, until_seq=seq),))


def held_at(
    session: Session,
    log: Sequence[LoggedState],
    said: StoredMessage,
    following: StoredMessage | None,
) -> HeldState | None:
    """The state that held at a message; None: it is not kept any more.

    Parameters
    ----------
    log : the states that are kept, the newest first.
    following : the next message of the session.
    """
    first = len(log) - 1 if log and log[-1].event == BEGUN else None
    place = next((place for place, one in enumerate(log) if _is_by(one, said, following)), first)
    if place is None:
        return None
    held, later = log[place], log[:place]
    if held.id != (later[-1].previous_id if later else session.log_id):
        return None  # the one between is gone
    if held.mode == session.mode and not any(one.role_config_json for one in later):
        return HeldState(held.mode, session.role_config_json, held.mode_state_json)
    begun = next((one for one in log[place:] if one.role_config_json), None)
    if begun is None or begun.mode != held.mode:
        return None
    return HeldState(held.mode, begun.role_config_json, held.mode_state_json)


def _is_by(one: LoggedState, said: StoredMessage, following: StoredMessage | None) -> bool:
    """Whether a state held when a message was said, or is what that message, a move in a round, led to."""
    if one.at_ms <= said.rank_time_ms:
        return True
    is_its_move = bool(one.request_id) and one.actor_id == said.message.author.id
    return is_its_move and (following is None or one.at_ms <= following.rank_time_ms)
