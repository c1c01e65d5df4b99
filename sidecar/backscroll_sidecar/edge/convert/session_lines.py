"""Sessions as JSON Lines: one line with the session, then one a message. Each is an object in protobuf's JSON form.

The numbers of lines stand for sequences: when somebody took part is told by them. The first message has 1.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, MutableMapping, Sequence

from google.protobuf import json_format

from backscroll.v1 import message_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.domain import MessageState, StoredMessage
from backscroll_sidecar.edge.convert.fields import invalid, missing
from backscroll_sidecar.edge.convert.messages import message_to_proto
from backscroll_sidecar.edge.convert.parsing import Batch
from backscroll_sidecar.edge.convert.sessions import session_to_proto
from backscroll_sidecar.sessions.session import Session

LINES_AT_ONCE = 200
BYTES_AT_ONCE = 1024 * 1024


async def session_lines(
    session: Session, messages: AsyncIterable[StoredMessage]
) -> AsyncIterator[Sequence[str]]:
    """Runs of lines: the session with its participants and its state, then its messages.

    The session tells by lines when somebody took part.
    """
    lines, size = [_line("session", session_to_proto(session))], 0
    async for one in messages:
        line = _line("message", _exported(one))
        lines.append(line)
        size += len(line)
        if len(lines) >= LINES_AT_ONCE or size >= BYTES_AT_ONCE:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def session_in(line: str) -> pb.Session:
    """The session of the first line. Raises `InvalidRequest`."""
    kind, value = _read(line, 0)
    if kind != "session":
        raise invalid("lines[0]", "is no session: it comes first")
    session = pb.Session()
    _parse(value, session, 0)
    return session


def batch_of_lines(
    lines: Iterable[str], first: int, session: Session, sequences: MutableMapping[str, int]
) -> Batch:
    """The messages that some lines are, as those of this session.

    Parameters
    ----------
    first : the number of the first line.
    sequences : the numbers of the messages are added, by their ids.
    """
    messages = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        kind, value = _read(line, number)
        if kind != "message":
            raise invalid(f"lines[{number}]", "is no message")
        message = message_pb2.Message()
        _parse(value, message, number)
        sequences[message.id] = number
        message.channel, message.session_id = session.key.channel, session.id
        messages.append(message)
    return Batch(session.key.channel, messages)


def _exported(stored: StoredMessage) -> message_pb2.Message:
    message = message_to_proto(stored.message)
    message.rank_time_ms = stored.rank_time_ms
    message.alias_ids.extend(stored.alias_ids)
    if stored.state is MessageState.RECALLED:
        message.recalled = True
        message.ClearField("parts")
    return message


def _line(kind: str, message: pb.Session | message_pb2.Message) -> str:
    value = json_format.MessageToDict(message)
    return json.dumps({kind: value}, ensure_ascii=False, separators=(",", ":"))


def _read(line: str, number: int) -> tuple[str, object]:
    try:
        ((kind, value),) = json.loads(line).items()
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise invalid(f"lines[{number}]", "is no JSON object with one field") from None
    return kind, value


def _parse(value: object, message: pb.Session | message_pb2.Message, number: int) -> None:
    try:
        json_format.ParseDict(value, message, ignore_unknown_fields=True)  # type: ignore[arg-type]
    except (json_format.ParseError, TypeError, ValueError, AttributeError) as error:
        raise invalid(f"lines[{number}]", f"cannot be read: {str(error)[:200]}") from None


def required_lines(lines: Sequence[str]) -> Sequence[str]:
    """Lines, at least one."""
    if not lines:
        raise missing("lines")
    return lines
