# ruff: noqa: N802  (the names of the RPCs)
"""The fake server's sessions: kept in a dict; personas repeat what is said, and ask for tools when there are some."""

import json

import grpc
from google.protobuf import json_format

from backscroll.v1 import message_pb2, session_pb2_grpc
from backscroll.v1 import session_pb2 as pb
from tests.clients.python.fake_services import status_of


def text_of(message):
    return " ".join(part.text.text for part in message.parts)


class Sessions(session_pb2_grpc.SessionServiceServicer):
    def __init__(self, fake):
        self.fake = fake
        self.sessions, self.spaces = {}, {}
        self.rounds, self.asked = {}, []
        self.told = {}

    def _session(self, ref, context):
        if ref.session_id not in self.sessions:
            self._refuse(context, "NOT_FOUND", "SESSION_NOT_FOUND", "session.session_id")
        return self.sessions[ref.session_id]

    def _refuse(self, context, code, reason, field=""):
        status = status_of(
            getattr(grpc.StatusCode, code), "no", reason, metadata={"field": field} if field else {}
        )
        self.fake.abort(status, context)
        raise AssertionError

    # --- spaces and sessions

    def PutSpace(self, request, context):
        self.fake.arrive("PutSpace", request, context)
        self.spaces[request.space.slug] = request.space
        return pb.PutSpaceResponse(space=request.space)

    def GetSpace(self, request, context):
        self.fake.arrive("GetSpace", request, context)
        if request.slug not in self.spaces:
            self._refuse(context, "NOT_FOUND", "SPACE_NOT_FOUND", "slug")
        return pb.GetSpaceResponse(space=self.spaces[request.slug])

    def ListSpaces(self, request, context):
        self.fake.arrive("ListSpaces", request, context)
        found, following = self._page(sorted(self.spaces), request)
        return pb.ListSpacesResponse(
            spaces=[self.spaces[slug] for slug in found], next_page_token=following
        )

    @staticmethod
    def _page(found, request):
        start = int(request.page_token or 0)
        end = start + (request.limit or 100)
        return found[start:end], str(end) if end < len(found) else ""

    def DeleteSpace(self, request, context):
        self.fake.arrive("DeleteSpace", request, context)
        self.spaces.pop(request.slug, None)
        return pb.DeleteSpaceResponse()

    def CreateSession(self, request, context):
        self.fake.arrive("CreateSession", request, context)
        session = request.session
        if session.mode == "nope":
            self._refuse(context, "INVALID_ARGUMENT", "UNKNOWN_MODE", "mode")
        is_new = session.session_id not in self.sessions
        session = self.sessions.setdefault(session.session_id, session)
        session.mode = session.mode or "free_chat"
        session.state_version = session.state_version or 1
        self.told.setdefault(session.session_id, [])
        return pb.CreateSessionResponse(session=session, created=is_new)

    def GetSession(self, request, context):
        self.fake.arrive("GetSession", request, context)
        return pb.GetSessionResponse(session=self._session(request.session, context))

    def ListSessions(self, request, context):
        self.fake.arrive("ListSessions", request, context)
        found, following = self._page(list(self.sessions.values()), request)
        return pb.ListSessionsResponse(sessions=found, next_page_token=following)

    def UpdateSession(self, request, context):
        self.fake.arrive("UpdateSession", request, context)
        session = self._session(request.session, context)
        for name in ("title", "mode", "role_config_json", "mode_state_json"):
            if request.HasField(name):
                setattr(session, name, getattr(request, name))
        session.status = request.status or session.status
        return pb.UpdateSessionResponse(session=session)

    def DeleteSession(self, request, context):
        self.fake.arrive("DeleteSession", request, context)
        gone = self.sessions.pop(request.session.session_id, None)
        return pb.DeleteSessionResponse(deleted=gone is not None)

    def ForkSession(self, request, context):
        self.fake.arrive("ForkSession", request, context)
        made = pb.Session()
        made.CopyFrom(self._session(request.session, context))
        made.session_id = request.new_session_id
        self.sessions[made.session_id], self.told[made.session_id] = made, []
        return pb.ForkSessionResponse(session=made)

    def PutParticipants(self, request, context):
        self.fake.arrive("PutParticipants", request, context)
        session = self._session(request.session, context)
        session.participants.extend(request.participants)
        return pb.PutParticipantsResponse(participants=session.participants)

    def RemoveParticipants(self, request, context):
        self.fake.arrive("RemoveParticipants", request, context)
        session = self._session(request.session, context)
        stay = [one for one in session.participants if one.id not in request.participant_ids]
        del session.participants[:]
        session.participants.extend(stay)
        return pb.RemoveParticipantsResponse(participants=session.participants)

    def ListStates(self, request, context):
        self.fake.arrive("ListStates", request, context)
        self._session(request.session, context)
        return pb.ListStatesResponse(states=[pb.SessionState(event="begun", state_version=1)])

    def ListModes(self, request, context):
        self.fake.arrive("ListModes", request, context)
        return pb.ListModesResponse(modes=[pb.Mode(name="free_chat"), pb.Mode(name="quiz")])

    def ExportSession(self, request, context):
        self.fake.arrive("ExportSession", request, context)
        session = self._session(request.session, context)
        lines = [json.dumps({"session": json_format.MessageToDict(session)})]
        lines += [
            json.dumps({"message": json_format.MessageToDict(one)})
            for one in self.told[session.session_id]
        ]
        for line in lines:
            yield pb.ExportSessionResponse(lines=[line])

    def ImportSession(self, request_iterator, context):
        requests = list(request_iterator)
        for one in requests:
            self.fake.arrive("ImportSession", one, context)
        session = json_format.ParseDict(json.loads(requests[0].lines[0])["session"], pb.Session())
        session.session_id = requests[0].session_id or session.session_id
        self.sessions[session.session_id], self.told[session.session_id] = session, []
        return pb.ImportSessionResponse(session=session)

    # --- rounds and moves

    def _route(self, session, message):
        text = text_of(message)
        personas = [one for one in session.participants if one.kind == pb.PARTICIPANT_KIND_PERSONA]
        if session.mode != "free_chat":
            return pb.Route(user_text=text)
        named = [one for one in personas if f"@{one.name}" in text]
        reason = pb.ROUTE_REASON_MENTION if named else pb.ROUTE_REASON_ALL
        for one in named:
            text = text.replace(f"@{one.name}", "").strip()
        return pb.Route(
            targets=[
                pb.Target(participant_id=one.id, name=one.name, reason=reason)
                for one in named or personas
            ],
            clean_text=text,
            user_text=text,
            policy=pb.UNADDRESSED_ALL,
        )

    def RouteMessage(self, request, context):
        self.fake.arrive("RouteMessage", request, context)
        session = self._session(request.session, context)
        return pb.RouteMessageResponse(route=self._route(session, request.message))

    def PrepareRound(self, request, context):
        self.fake.arrive("PrepareRound", request, context)
        session = self._session(request.round.session, context)
        route = self._route(session, request.round.message)
        answer = pb.PrepareRoundResponse(route=route, user_text=route.user_text, mode=session.mode)
        for one in route.targets:
            about = answer.contexts.add(target=one, stop_names=["Ann:"])
            about.context.messages.add(role=message_pb2.ROLE_USER, content=route.user_text)
        return answer

    def Act(self, request, context):
        self.fake.arrive("Act", request, context)
        self._session(request.session, context)
        if request.name == "cheat":
            self._refuse(context, "FAILED_PRECONDITION", "ACTION_REFUSED", "name")
        change = pb.StateChanged(
            state_version=2, event=request.name, mode_state_json='{"phase": "asking"}'
        )
        change.announcements.add(id="a1").parts.add().text.text = "It begins."
        return pb.ActResponse(change=change, waiting_for=["tom"])

    def StartRound(self, request, context):
        self.fake.arrive("StartRound", request, context)
        session = self._session(request.session, context)
        if session.status == pb.SESSION_STATUS_SEALED:
            self._refuse(context, "FAILED_PRECONDITION", "SESSION_CLOSED", "session.session_id")
        key = request.request_id
        is_known = key in self.rounds
        if not is_known:
            self.rounds[key] = (request, {})
            self.told[session.session_id].append(request.message)
        yield from self._cut(self._events(session, key, {}, resumed=is_known), context, key)

    def ResumeRound(self, request, context):
        self.fake.arrive("ResumeRound", request, context)
        session = self._session(request.session, context)
        if request.request_id not in self.rounds:
            self._refuse(context, "NOT_FOUND", "ROUND_NOT_FOUND", "request_id")
        given = {one.interrupt_id: one.tool_results for one in request.answers}
        events = self._events(session, request.request_id, given, resumed=True)
        yield from self._cut(events, context, request.request_id)

    def _cut(self, events, context, key):
        """Events, numbered; where the test says so the connection breaks behind one of them, once."""
        for number, (target, event) in enumerate(events, 1):
            yield pb.StartRoundResponse(
                event=pb.RoundEvent(sequence=number, target_id=target, **event)
            )
            if number == self.fake.breaks_after:
                self.fake.breaks_after = 0
                self.fake.abort(status_of(grpc.StatusCode.UNAVAILABLE), context)

    def _events(self, session, key, given, *, resumed):
        request, replies = self.rounds[key]
        route = self._route(session, request.message)
        started = pb.RoundStarted(
            session=session, request_id=key, user_message=request.message, route=route,
            resumed=resumed,
        )  # fmt: skip
        yield "", {"round_started": started}
        tools = json.loads(request.context.tools_json or "[]")
        waits = False
        for step, target in enumerate(route.targets, 1):
            who = target.participant_id
            yield who, {"target_started": pb.TargetStarted(target=target, step=step)}
            results = given.get(f"i-{who}")
            if tools and results is None and who not in replies:
                waits = True
                yield from self._interrupted(who, tools)
                continue
            if who not in replies:
                self.asked.append((key, who))
                said = ", ".join(one.text for one in results or ()) or text_of(request.message)
                said = said if results else route.user_text
                replies[who] = f"{target.name or who} says: {said}"
            reply = message_pb2.Message(id=f"{key}-{who}")
            reply.parts.add().text.text = replies[who]
            yield who, {"delta": pb.TargetDelta(text=replies[who], whole=resumed)}
            done = pb.TargetEnded(reason=pb.TARGET_END_REASON_COMPLETE, message=reply)
            yield who, {"target_ended": done}
        reasons = {True: pb.ROUND_END_REASON_INTERRUPTED, False: pb.ROUND_END_REASON_COMPLETE}
        reason = reasons[waits] if route.targets else pb.ROUND_END_REASON_NOBODY
        yield "", {"round_ended": pb.RoundEnded(reason=reason)}

    def _interrupted(self, who, tools):
        calls = [
            message_pb2.ToolCallPart(
                id=f"c-{who}-{number}",
                name=one["function"]["name"],
                arguments_json=self.fake.tool_arguments,
            )
            for number, one in enumerate(tools)
        ]
        for one in calls:
            yield who, {"tool_call": one}
        yield who, {"target_ended": pb.TargetEnded(reason=pb.TARGET_END_REASON_INTERRUPTED)}
        yield who, {"interrupt": pb.Interrupt(interrupt_id=f"i-{who}", tool_calls=calls)}
