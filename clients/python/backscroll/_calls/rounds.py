"""Rounds: a message is said, and whoever is to answer is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Unpack

from backscroll._calls.plan import Call, Plan
from backscroll._calls.rooms import RoomCore, begun
from backscroll._calls.round_plan import RoundPlan, answers_of
from backscroll._calls.round_requests import (
    RoundOptions,
    RoundTools,
    round_request,
    said,
    table_of,
)
from backscroll._encode import encode
from backscroll._round_events import prepared_of, route_of
from backscroll.room_events import PreparedRound, Route
from backscroll.v1 import message_pb2, session_pb2
from backscroll.values import Author, Mention, Message, Reply, ToolResult

ROUND_TIMEOUT_S = 300.0
Answers: TypeAlias = Mapping[str, Sequence[ToolResult]]
"""The results of tools, by the id of the interrupt that waits for them."""


def say(
    core: RoomCore,
    text: str | Message,
    author: str | Author | None = None,
    *,
    id: str = "",
    targets: Sequence[str] = (),
    request_id: str | None = None,
    reply_to: str | Reply | message_pb2.Reply | None = None,
    mentions: Sequence[str | Mention | message_pb2.Mention] = (),
    audience: Sequence[str] = (),
    expected_state_version: int | None = None,
    tools: RoundTools | None = None,
    timeout_s: float | None = ROUND_TIMEOUT_S,
    **settings: Unpack[RoundOptions],
) -> RoundPlan:
    """Say something in the room, and iterate over what is answered to it.

    The message is stored, everybody who is to answer is asked, and their answers are stored. First
    comes a `RoundStarted`, then of each persona a `TargetStarted`, each `TargetDelta` and a
    `TargetEnded`; last a `RoundEnded`. Afterwards `replies`, `responses`, `route`, `state`,
    `errors` and `ended` of what was iterated say what came of it. One persona that fails costs only
    itself and raises nothing. Leaving the loop ends the call and the models' work.

    A call that breaks off goes on by itself with what is still to come. The round has a request id,
    so nobody is asked twice; a `TargetStarted` for a persona already begun says that its answer
    begins again.

    Parameters
    ----------
    text, author
        What is said and by whom: an id or an `Author`. A `Message` may stand for both.
    id
        The platform's id of the message, so that it is stored once. "": made of the request id.
    targets
        Ids or names of personas that shall answer, whatever the text says.
    request_id
        Names the round: the same one again gives what is stored, and goes on with what is not.
        None: made up; it is `request_id` of what this returns.
    reply_to, mentions
        What the message answers, and whom the platform marked in it.
    audience
        The ids of those it is for. None: whom the mode says.
    expected_state_version
        Refuse the round where the session has another one.
    tools
        Functions, or a dict of them by name: they are described to the models, called when one asks
        for it, and what they return is handed back. As for `stream_chat`.
    timeout_s
        Deadline of each call of the server, five minutes; the tools' own time comes on top.
    **settings
        Of the prompts, as for `build_context` (`token_budget`, `profile`, `model`, `time_zone`, …),
        and of the model, as for `stream_chat` (`temperature`, `max_output_tokens`, …).

    Raises
    ------
    NotFound
        With reason SESSION_NOT_FOUND, where the room was made of an id alone.
    Refused
        With reason ACTION_REFUSED where the message is a move that the rules forbid; SESSION_CLOSED.
    Conflict
        If the mode or the state is another one, or the request id that of another message.
    Unavailable
        If the server is not there; `request_id` of the error is what `resume` takes.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom"), Persona("kit", "Kit")])
    >>> for event in room.say("hello", "u1"):
    ...     match event:
    ...         case TargetDelta(text, who):
    ...             print(f"{who}: {text}")
    tom: Tom says: hello
    kit: Kit says: hello
    """
    message = said(
        text, author, id=id, reply_to=reply_to, mentions=mentions, audience=audience
    )  # fmt: skip
    request, table = round_request(core, message, targets, request_id, tools, settings)
    if expected_state_version is not None:
        request.expected_state_version = expected_state_version
    return RoundPlan(core, request, table, timeout_s)


def go_on(
    core: RoomCore,
    *,
    targets: Sequence[str] = (),
    request_id: str | None = None,
    tools: RoundTools | None = None,
    timeout_s: float | None = ROUND_TIMEOUT_S,
    **settings: Unpack[RoundOptions],
) -> RoundPlan:
    """Let those speak whom the mode waits for, without a message; otherwise as `say`.

    Raises
    ------
    InvalidRequest
        With reason QUESTION_MISSING, where the mode waits for nobody.

    Examples
    --------
    >>> room = client.room("cats", personas=["tom"], mode="quiz")
    >>> list(room.go_on())[-1].reason
    'nobody'
    """
    request, table = round_request(core, None, targets, request_id, tools, settings)
    return RoundPlan(core, request, table, timeout_s)


def resume(
    core: RoomCore,
    request_id: str,
    *,
    answers: Answers | None = None,
    after_sequence: int = 0,
    tools: RoundTools | None = None,
    timeout_s: float | None = ROUND_TIMEOUT_S,
) -> RoundPlan:
    """Go on with a round: after a failure, or with the results of tools that it waits for.

    Parameters
    ----------
    request_id
        Of the round.
    answers
        Results by the `interrupt_id` of the `Interrupt` that waits for them.
    after_sequence
        The number of the last event you have: what comes is numbered behind it. What is stored is told again.
    tools
        As for `say`: answers to what is asked for from now on.
    timeout_s
        Deadline of each call.

    Raises
    ------
    NotFound
        With reason ROUND_NOT_FOUND or INTERRUPT_NOT_FOUND.
    Conflict
        If an interrupt was answered otherwise before.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom")])
    >>> first = room.ask("hello", "u1")
    >>> again = room.resume(first.request_id)
    >>> _ = list(again)
    >>> again.replies == first.replies
    True
    """
    request = session_pb2.ResumeRoundRequest(
        session=core.ref,
        request_id=request_id,
        after_sequence=after_sequence,
        answers=[answers_of(key, results) for key, results in (answers or {}).items()],
    )
    return RoundPlan(core, request, table_of(tools, ""), timeout_s)


def route(
    core: RoomCore,
    text: str | Message,
    author: str | Author | None = None,
    *,
    targets: Sequence[str] = (),
    timeout_s: float | None = None,
) -> Plan[Route]:
    """Say who would answer a message, and why. It stores nothing.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom"), Persona("kit", "Kit")])
    >>> room.route("@Tom hello", "u1").reasons
    {'tom': 'mention'}
    """
    yield from begun(core, timeout_s)
    request = encode(
        session_pb2.RouteMessageRequest,
        session=core.ref,
        message=said(text, author),
        targets=targets,
    )
    response: session_pb2.RouteMessageResponse = yield Call("RouteMessage", request, timeout_s)
    return route_of(response.route)


def prepare(
    core: RoomCore,
    text: str | Message,
    author: str | Author | None = None,
    *,
    targets: Sequence[str] = (),
    reply_to: str | Reply | message_pb2.Reply | None = None,
    mentions: Sequence[str | Mention | message_pb2.Mention] = (),
    timeout_s: float | None = None,
    **settings: Unpack[RoundOptions],
) -> Plan[PreparedRound]:
    """Say all that a round would go by, for bots that call the model themselves. It stores nothing.

    Of each persona that would answer there is its context with its payload; `say` tells the parameters.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom")])
    >>> prepared = room.prepare("hello", "u1")
    >>> [(one.target.name, one.context.messages[-1]["content"]) for one in prepared.contexts]
    [('Tom', 'hello')]
    """
    yield from begun(core, timeout_s)
    message = said(text, author, reply_to=reply_to, mentions=mentions)
    request, _ = round_request(core, message, targets, None, None, settings)
    response: session_pb2.PrepareRoundResponse = yield Call(
        "PrepareRound", session_pb2.PrepareRoundRequest(round=request), timeout_s
    )
    return prepared_of(response, request.context)
