"""SessionService at the edge: translate, ask the rooms, translate."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.batches import ImportSource
from backscroll_sidecar.edge.convert.chat import context_to_proto
from backscroll_sidecar.edge.convert.fields import (
    check_id,
    check_text,
    check_time,
    invalid,
    missing,
    required_id,
)
from backscroll_sidecar.edge.convert.history import import_to_proto, limit_of
from backscroll_sidecar.edge.convert.messages import message_to_proto
from backscroll_sidecar.edge.convert.pages import page_name, page_position, page_token
from backscroll_sidecar.edge.convert.parsing import Batch
from backscroll_sidecar.edge.convert.rounds import (
    change_to_proto,
    event_to_proto,
    resume_request,
    round_request,
    route_to_proto,
    said_message,
    settings_of,
    targets_of,
)
from backscroll_sidecar.edge.convert.session_lines import (
    batch_of_lines,
    required_lines,
    session_in,
    session_lines,
)
from backscroll_sidecar.edge.convert.sessions import (
    draft_of,
    draft_of_export,
    edit_of,
    mode_to_proto,
    participant_to_proto,
    participants_of,
    required_ref,
    session_to_proto,
    space_of,
    space_to_proto,
    state_to_proto,
)
from backscroll_sidecar.edge.limits import MAX_TEXT_BYTES
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.rooms.rooms import Rooms
from backscroll_sidecar.sessions.modes.base import Action


class SessionServicer:
    """Answers SessionService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["SessionService"]

    def __init__(self, rooms: Rooms, history: HistoryService, server_version: str) -> None:
        self._spaces = rooms.spaces
        self._sessions = rooms.sessions
        self._participation = rooms.participation
        self._rounds = rooms.rounds
        self._moves = rooms.moves
        self._exports = rooms.exports
        self._history = history
        self._server_version = server_version

    # --- spaces ------------------------------------------------------------------------------------

    async def put_space(self, request: pb.PutSpaceRequest, call: Call) -> pb.PutSpaceResponse:
        """Keep a space."""
        if not request.HasField("space"):
            raise missing("space")
        space = await self._spaces.put(call.tenant, space_of(request.space), call.deadline_s)
        return pb.PutSpaceResponse(space=space_to_proto(space))

    async def get_space(self, request: pb.GetSpaceRequest, call: Call) -> pb.GetSpaceResponse:
        """Read a space."""
        slug = required_id(request.slug, "slug")
        space = await self._spaces.get(call.tenant, slug)
        return pb.GetSpaceResponse(space=space_to_proto(space))

    async def list_spaces(self, request: pb.ListSpacesRequest, call: Call) -> pb.ListSpacesResponse:
        """Page through the spaces."""
        limit = limit_of(request)
        after = page_name(request) or ""
        spaces, has_more = await self._spaces.list(call.tenant, after, limit)
        answer = pb.ListSpacesResponse(spaces=map(space_to_proto, spaces))
        if has_more and spaces:
            answer.next_page_token = page_token(request, spaces[-1].slug)
        return answer

    async def delete_space(
        self, request: pb.DeleteSpaceRequest, call: Call
    ) -> pb.DeleteSpaceResponse:
        """Delete a space."""
        await self._spaces.delete(call.tenant, required_id(request.slug, "slug"))
        return pb.DeleteSpaceResponse()

    # --- sessions ----------------------------------------------------------------------------------

    async def create_session(
        self, request: pb.CreateSessionRequest, call: Call
    ) -> pb.CreateSessionResponse:
        """Begin a session."""
        session, is_new = await self._sessions.create(
            call.tenant, draft_of(request.session), call.deadline_s, call.allowed
        )
        return pb.CreateSessionResponse(session=session_to_proto(session), created=is_new)

    async def get_session(self, request: pb.GetSessionRequest, call: Call) -> pb.GetSessionResponse:
        """Read a session."""
        session = await self._sessions.fresh(call.tenant, required_ref(request, call.allowed))
        return pb.GetSessionResponse(session=session_to_proto(session))

    async def list_sessions(
        self, request: pb.ListSessionsRequest, call: Call
    ) -> pb.ListSessionsResponse:
        """Page through the sessions, the newest first."""
        place = page_name(request)
        before = None
        if place is not None:
            at_ms, _, number = place.partition(":")
            before = (int(at_ms), int(number))
        sessions, following = await self._sessions.list(
            call.tenant,
            limit_of(request),
            before=before,
            space=check_id(request.space, "space") if request.HasField("space") else None,
            channel=check_id(request.channel, "channel"),
            owner_id=check_id(request.owner_id, "owner_id"),
            include_archived=request.include_archived,
            allowed=call.allowed,
        )
        answer = pb.ListSessionsResponse(
            sessions=[session_to_proto(one, whole=False) for one in sessions]
        )
        if following is not None:
            answer.next_page_token = page_token(request, f"{following[0]}:{following[1]}")
        return answer

    async def update_session(
        self, request: pb.UpdateSessionRequest, call: Call
    ) -> pb.UpdateSessionResponse:
        """Change a session."""
        session = await self._sessions.update(
            call.tenant, required_ref(request, call.allowed), edit_of(request), call.deadline_s
        )
        return pb.UpdateSessionResponse(session=session_to_proto(session))

    async def delete_session(
        self, request: pb.DeleteSessionRequest, call: Call
    ) -> pb.DeleteSessionResponse:
        """Delete a session."""
        deleted, erased = await self._sessions.delete(
            call.tenant, required_ref(request, call.allowed), erase_messages=request.erase_messages
        )
        return pb.DeleteSessionResponse(deleted=deleted, erased_message_count=erased)

    async def fork_session(
        self, request: pb.ForkSessionRequest, call: Call
    ) -> pb.ForkSessionResponse:
        """Begin a session with what another one held."""
        session, count = await self._exports.fork(
            call.tenant,
            required_ref(request, call.allowed),
            check_id(request.message_id, "message_id"),
            check_id(request.new_session_id, "new_session_id"),
        )
        return pb.ForkSessionResponse(session=session_to_proto(session), message_count=count)

    async def put_participants(
        self, request: pb.PutParticipantsRequest, call: Call
    ) -> pb.PutParticipantsResponse:
        """Add or replace participants."""
        found = await self._participation.put(
            call.tenant,
            required_ref(request, call.allowed),
            participants_of(request.participants, "participants"),
        )
        return pb.PutParticipantsResponse(participants=map(participant_to_proto, found))

    async def remove_participants(
        self, request: pb.RemoveParticipantsRequest, call: Call
    ) -> pb.RemoveParticipantsResponse:
        """Let participants leave."""
        ids = [
            required_id(one, f"participant_ids[{place}]")
            for place, one in enumerate(request.participant_ids)
        ]
        left_at_ms = None
        if request.HasField("left_at_ms"):
            left_at_ms = check_time(request.left_at_ms, "left_at_ms")
        found = await self._participation.remove(
            call.tenant, required_ref(request, call.allowed), ids, left_at_ms, forget=request.forget
        )
        return pb.RemoveParticipantsResponse(participants=map(participant_to_proto, found))

    # --- routing, rounds, moves --------------------------------------------------------------------

    async def route_message(
        self, request: pb.RouteMessageRequest, call: Call
    ) -> pb.RouteMessageResponse:
        """Say who would answer."""
        if not request.HasField("message"):
            raise missing("message")
        session, routing = await self._moves.route(
            call.tenant,
            required_ref(request, call.allowed),
            said_message(request.message, "message"),
            targets_of(request.targets),
        )
        return pb.RouteMessageResponse(
            route=route_to_proto(session, routing),
            mode=session.mode,
            state_version=session.state_version,
        )

    async def prepare_round(
        self, request: pb.PrepareRoundRequest, call: Call
    ) -> pb.PrepareRoundResponse:
        """Say all that a round would go by."""
        if not request.HasField("round"):
            raise missing("round")
        if not request.round.session.session_id:
            raise missing("round.session.session_id")
        asked = round_request(request.round, call.tenant, call.time_left_s, call.allowed)
        prepared = await self._moves.prepare(asked)
        route = route_to_proto(prepared.session, prepared.routing)
        targets = {one.participant_id: one for one in route.targets}
        return pb.PrepareRoundResponse(
            lookup=dict(prepared.lookup),
            route=route,
            history=[message_to_proto(one.message) for one in prepared.history],
            user_text=prepared.routing.user_text,
            task_prompt=prepared.task_prompt,
            contexts=[
                pb.TargetContext(
                    target=targets[one.target.id],
                    context=context_to_proto(one.built, self._server_version),
                    stop_names=one.stop_names,
                )
                for one in prepared.contexts
            ],
            mode=prepared.session.mode,
            state_version=prepared.session.state_version,
        )

    async def start_round(
        self, request: pb.StartRoundRequest, call: Call
    ) -> AsyncIterator[pb.StartRoundResponse]:
        """Run a round; a caller who leaves closes the models' streams."""
        asked = round_request(request, call.tenant, call.time_left_s, call.allowed)
        async with aclosing(self._rounds.start(asked)) as events:
            async for event in events:
                said = event_to_proto(event, self._server_version)
                yield pb.StartRoundResponse(event=said)

    async def resume_round(
        self, request: pb.ResumeRoundRequest, call: Call
    ) -> AsyncIterator[pb.ResumeRoundResponse]:
        """Go on with a round."""
        if request.after_sequence < 0:
            raise invalid("after_sequence", "is negative")
        asked, answers = resume_request(request, call.tenant, call.time_left_s, call.allowed)
        read = settings_of(request, call.tenant, call.time_left_s, call.allowed)
        async with aclosing(self._rounds.resume(asked, answers, read)) as events:
            async for event in events:
                said = event_to_proto(event, self._server_version)
                said.sequence += request.after_sequence
                yield pb.ResumeRoundResponse(event=said)

    async def act(self, request: pb.ActRequest, call: Call) -> pb.ActResponse:
        """Make a move."""
        action = Action(
            required_id(request.name, "name"),
            check_id(request.actor_id, "actor_id"),
            check_text(request.argument, "argument", MAX_TEXT_BYTES),
        )
        expected = None
        if request.HasField("expected_state_version"):
            expected = request.expected_state_version
        told, waiting = await self._moves.act(
            call.tenant,
            required_ref(request, call.allowed),
            action,
            request_id=check_id(request.request_id, "request_id"),
            expected_state_version=expected,
        )
        return pb.ActResponse(change=change_to_proto(told), waiting_for=waiting)

    async def list_states(self, request: pb.ListStatesRequest, call: Call) -> pb.ListStatesResponse:
        """Page through the log of states, the newest first."""
        states, following = await self._moves.states(
            call.tenant,
            required_ref(request, call.allowed),
            limit_of(request),
            page_position(request),
        )
        answer = pb.ListStatesResponse(states=map(state_to_proto, states))
        if following is not None:
            answer.next_page_token = page_token(request, following)
        return answer

    async def list_modes(self, request: pb.ListModesRequest, call: Call) -> pb.ListModesResponse:  # noqa: ARG002
        """All modes there are."""
        return pb.ListModesResponse(modes=map(mode_to_proto, self._sessions.modes))

    # --- exports -----------------------------------------------------------------------------------

    async def export_session(
        self, request: pb.ExportSessionRequest, call: Call
    ) -> AsyncIterator[pb.ExportSessionResponse]:
        """A session as JSON Lines."""
        session = await self._sessions.fresh(call.tenant, required_ref(request, call.allowed))
        told = await self._exports.by_lines(session)
        async for lines in session_lines(told, self._exports.messages(session)):
            yield pb.ExportSessionResponse(lines=lines)

    async def import_session(
        self, requests: AsyncIterator[pb.ImportSessionRequest], call: Call
    ) -> pb.ImportSessionResponse:
        """Take a session from JSON Lines; the next request is read once the last is durable."""
        first = await anext(requests, None)
        if first is None:
            raise missing("lines")
        given = session_in(required_lines(first.lines)[0])
        if first.session_id:
            given.session_id = first.session_id
        if first.channel or first.session_id:
            given.channel = first.channel
        if first.HasField("space"):
            given.space = first.space
        incoming = await self._exports.begin(
            call.tenant, draft_of_export(given), first.channel, call.allowed
        )
        session, sequences = incoming.session, incoming.sequences

        async def batches() -> AsyncIterator[Batch]:
            number = 1
            yield batch_of_lines(first.lines[1:], number, session, sequences)
            number = len(first.lines)
            async for request in requests:
                yield batch_of_lines(request.lines, number, session, sequences)
                number += len(request.lines)

        source = ImportSource(batches())
        report = await self._exports.take(call.tenant, source.messages())
        session = await incoming.finish()
        messages = import_to_proto(report, source.refused_count, source.problems(report))
        return pb.ImportSessionResponse(session=session_to_proto(session), messages=messages)
