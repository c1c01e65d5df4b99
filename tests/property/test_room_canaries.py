"""Nobody's context holds a line that is not for them: lines of many channels are marked, and an oracle judges builds.

Channels hold lines of several sessions and of none, for all and for some, that are edited, taken back, erased, pinned
and summarised, while participants come and go. Each line holds a canary. What may be shown is worked out here, from
what was said to the server and from nothing that it answers. `tests/proof/test_room_canaries.py` builds 100,000.
"""

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from msgspec.structs import replace

from backscroll.v1 import context_pb2 as cpb
from backscroll.v1 import history_pb2, history_pb2_grpc, message_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.context import moment, visibility
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.edge.convert.built import encode_built
from backscroll_sidecar.edge.convert.context import build_request
from backscroll_sidecar.summaries.compaction import Conversation
from backscroll_sidecar.wiring import App
from tests.integration.rooms.room import Room, room
from tests.kit.chats import NOON_MS, StillClock

TENANT = "default"
PEOPLE = tuple(f"w{number}" for number in range(8))
"""Everywhere the same, so that one channel's lines would be of use in another one."""
PERSONAS = PEOPLE[5:]
STRANGER = "w9"
VOCABULARY = (
    "tea",
    "mill",
    "friday",
    "bridge",
    "lamp",
    "door",
    "river",
    "train",
    "茶",
    "周五",
    "桥",
    "门",
    "河",
)
QUESTIONS = (
    "who said something about tea?",
    "when at the mill, friday?",
    "桥在河的哪一边？",
    "and the lamp?",
)
GO_ON = "go on"
CHEAP, DEAR = ("room", "naive", "chain_recent"), tuple(sorted(PROFILES))
CANARY = re.compile(rb"KK(\d+)\.(\d+)r(\d+)")
ALL_OF_IT = 500
RULES = {
    number: name.removeprefix("VISIBILITY_RULE_") for name, number in cpb.VisibilityRule.items()
}
ALL, PRESENT, ADDRESSED, NONE = (
    pb.OBSERVE_ALL,
    pb.OBSERVE_PRESENT,
    pb.OBSERVE_ADDRESSED,
    pb.OBSERVE_NONE,
)
ALLOWLIST, QUOTE = cpb.AUTHOR_VISIBILITY_ALLOWLIST, cpb.AUTHOR_VISIBILITY_ALLOWLIST_QUOTE


# --- what was said -----------------------------------------------------------------------------------


@dataclass
class Line:
    """A line as it was last said. `place` counts the lines of its channel from 0, in order of arrival."""

    channel: "Channel" = field(repr=False)
    place: int
    at_ms: int
    author: str
    session: str
    audience: frozenset[str]
    mentions: tuple[str, ...]
    parent: "Line | None" = field(repr=False)
    is_assistant: bool
    is_partial: bool
    revision: int = 0
    is_gone: bool = False
    is_erased: bool = False
    """Then nobody knows any more who wrote it."""

    @property
    def id(self) -> str:
        return f"m{self.place}"

    def text(self, rng: random.Random) -> str:
        """The canary names channel, place, revision, session and audience."""
        whom = "+".join(sorted(one[1:] for one in self.audience)) or "all"
        words = " ".join(
            rng.choices(VOCABULARY, k=120 if self.channel.is_long else rng.randint(2, 9))
        )
        number = self.session.partition("-")[2] or "none"
        return f"KK{self.channel.number}.{self.place}r{self.revision}.s{number}.a{whom}KK {words}"


@dataclass
class Stay:
    """A time somebody took part. Places: behind so many lines, up to so many; None: open."""

    after_place: int | None = None
    until_place: int | None = None
    joined_at_ms: int | None = None
    left_at_ms: int | None = None

    def holds(self, line: Line) -> bool:
        """Whether a line was said in it."""
        return (
            (self.after_place is None or line.place >= self.after_place)
            and (self.until_place is None or line.place < self.until_place)
            and (self.joined_at_ms is None or line.at_ms >= self.joined_at_ms)
            and (self.left_at_ms is None or line.at_ms < self.left_at_ms)
        )

    @property
    def is_over(self) -> bool:
        return self.until_place is not None or self.left_at_ms is not None


@dataclass
class Guest:
    """Somebody who takes part in a session."""

    id: str
    observe: int
    stays: list[Stay]

    def proto(self, *, with_stays: bool = True) -> pb.Participant:
        kind = pb.PARTICIPANT_KIND_PERSONA if self.id in PERSONAS else pb.PARTICIPANT_KIND_HUMAN
        stays = [
            pb.Presence(
                after_sequence=one.after_place,
                until_sequence=one.until_place,
                joined_at_ms=one.joined_at_ms,
                left_at_ms=one.left_at_ms,
            )
            for one in self.stays
        ]
        return pb.Participant(
            id=self.id, name=f"Wren{self.id[1:]}", kind=kind, observe=self.observe,
            presences=stays if with_stays else (),
        )  # fmt: skip


@dataclass
class Meeting:
    """A session."""

    id: str
    alias: str
    visibility: int
    allowed: frozenset[str]
    guests: dict[str, Guest] = field(default_factory=dict)


@dataclass
class Channel:
    number: int
    is_long: bool
    lines: list[Line] = field(default_factory=list, repr=False)
    meetings: list[Meeting] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"c{self.number}"


# --- the oracle --------------------------------------------------------------------------------------


@dataclass
class Eyes:
    """For whom a build is, as its request says it. `quoted`: what the question replies to, directly."""

    viewer: str
    asker: str
    meeting: Meeting | None
    visibility: int
    allowed: frozenset[str]
    takes_assistants: bool
    quoted: Line | None
    asked_at_ms: int | None
    is_anywhere: bool

    @property
    def guest(self) -> Guest | None:
        return None if self.meeting is None else self.meeting.guests.get(self.viewer)

    def may_see(self, line: Line) -> bool:
        """Whether a line may be shown."""
        return (
            not line.is_gone
            and self._is_of_here(line)
            and self._is_meant(line)
            and self._is_observed(line)
            and (self._is_allowed(line) or (self.visibility == QUOTE and line is self.quoted))
            and (self.asked_at_ms is None or line.at_ms <= self.asked_at_ms)
        )

    def rule(self, line: Line) -> str:
        """By what rule a line that may be shown is."""
        if self.visibility == QUOTE and not self._is_allowed(line):
            return "QUOTE"
        if line.audience:
            return "AUDIENCE" if self.viewer in line.audience else "AUTHOR"
        if self.is_anywhere:
            return "USER_SCOPE"
        guest = self.guest
        if guest is not None and guest.observe in (PRESENT, ADDRESSED) and guest.stays:
            return "MEMBERSHIP"
        return (
            "SESSION" if self.meeting is not None and line.session == self.meeting.id else "CHANNEL"
        )

    def _is_of_here(self, line: Line) -> bool:
        if self.is_anywhere:
            return line.author == self.asker
        return self.meeting is None or line.session in ("", self.meeting.id)

    def _is_meant(self, line: Line) -> bool:
        return not line.audience or self.viewer in (*line.audience, line.author)

    def _is_allowed(self, line: Line) -> bool:
        is_own = self.takes_assistants and line.is_assistant
        return self.visibility not in (ALLOWLIST, QUOTE) or line.author in self.allowed or is_own

    def _is_observed(self, line: Line) -> bool:
        guest = self.guest
        if guest is None or guest.observe == ALL:
            return True
        if guest.observe == NONE or (
            guest.stays and not any(one.holds(line) for one in guest.stays)
        ):
            return False
        answered = line.parent
        is_answer = answered is not None and answered.author == guest.id and not answered.is_erased
        names_it = guest.id in (line.author, *line.mentions, *line.audience)
        return guest.observe == PRESENT or names_it or is_answer


# --- the world ---------------------------------------------------------------------------------------


class World:
    """Channels on a server, and what the oracle knows of them."""

    def __init__(self, chat: Room, stub: history_pb2_grpc.HistoryServiceStub, seed: int) -> None:
        self.chat, self.history = chat, stub
        self.rng = random.Random(seed)
        self.channels: list[Channel] = []
        self.seen: Counter[str] = Counter()

    async def fill(self, count: int) -> None:
        """Make so many channels; a third is shared by two to four sessions."""
        for number in range(count):
            channel = Channel(number, is_long=number % 50 == 7)
            self.channels.append(channel)
            sessions = self.rng.choices([0, 1, 2, 3, 4], [2, 4, 1, 1, 1])[0]
            for place in range(sessions):
                await self._open(channel, place)
            await self._say(channel, 60 if channel.is_long else self.rng.randint(6, 16))
            for meeting in channel.meetings:
                if self.rng.random() < 0.3:
                    await self._come_and_go(channel, meeting)
            await self._say(channel, self.rng.randint(3, 8))
            for _ in range(self.rng.randint(0, 2)):
                await self._change_line(channel)
            if channel.is_long:
                await self.summarise(channel)

    async def _open(self, channel: Channel, place: int) -> None:
        rng = self.rng
        meeting = Meeting(
            f"s{channel.number}-{place}", f"old{channel.number}-{place}",
            rng.choices([0, ALLOWLIST, QUOTE], [8, 1, 1])[0],
            frozenset(rng.sample(PEOPLE, rng.randint(0, 2))),
        )  # fmt: skip
        for id_ in rng.sample(PEOPLE, rng.randint(1, 5)):
            observe = rng.choices([0, ALL, PRESENT, ADDRESSED, NONE], [4, 2, 4, 2, 1])[0] or PRESENT
            meeting.guests[id_] = Guest(id_, observe, self._stays())
        await self.chat.stub.CreateSession(
            pb.CreateSessionRequest(
                session=pb.Session(
                    session_id=meeting.id, aliases=[meeting.alias], channel=channel.name,
                    participants=[one.proto() for one in meeting.guests.values()],
                    policy=pb.RoomPolicy(
                        author_visibility=meeting.visibility, allowed_author_ids=sorted(meeting.allowed)
                    ),
                )
            )
        )  # fmt: skip
        channel.meetings.append(meeting)

    def _stays(self) -> list[Stay]:
        """None, or some, by sequence, by clock, by both."""
        rng, out = self.rng, []
        for _ in range(rng.choices([0, 1, 2, 3], [5, 3, 2, 1])[0]):
            stay = Stay()
            if rng.random() < 0.6:
                first, last = sorted(rng.choices(range(24), k=2))
                stay.after_place = first if rng.random() < 0.8 else None
                stay.until_place = last if rng.random() < 0.6 else None
            if rng.random() < 0.5:
                first, last = sorted(NOON_MS - rng.randint(0, 30_000_000) for _ in range(2))
                stay.joined_at_ms = first if rng.random() < 0.8 else None
                stay.left_at_ms = last if rng.random() < 0.6 else None
            out.append(stay)
        return out

    async def _say(self, channel: Channel, count: int) -> None:
        rng, said = self.rng, []
        for _ in range(count):
            place = len(channel.lines)
            at_ms = NOON_MS - 30_000_000 + place * 350_000 + rng.randint(0, 900_000)
            author = rng.choice(PEOPLE)
            earlier = [one for one in channel.lines[-8:] if one.at_ms < at_ms and not one.is_gone]
            is_assistant = author in PERSONAS and rng.random() < 0.7
            line = Line(
                channel, place, at_ms, author,
                rng.choice(["", "", f"ghost-{channel.number}", *(one.id for one in channel.meetings)] * 2
                           + [one.id for one in channel.meetings] * 3),
                frozenset(rng.sample([*PEOPLE, STRANGER], rng.randint(1, 3)) if rng.random() < 0.3 else ()),
                tuple(rng.sample(PEOPLE, 1)) if rng.random() < 0.25 else (),
                rng.choice(earlier) if earlier and rng.random() < 0.4 else None,
                is_assistant,
                is_partial=is_assistant and rng.random() < 0.1,
            )  # fmt: skip
            channel.lines.append(line)
            said.append(self._proto(line))
        asked = history_pb2.AppendMessagesRequest(channel=channel.name, messages=said)
        answer = await self.history.AppendMessages(asked)
        assert {one.outcome for one in answer.results} == {history_pb2.APPEND_OUTCOME_STORED}

    def _proto(self, line: Line) -> message_pb2.Message:
        bot = (
            message_pb2.AUTHOR_KIND_BOT
            if line.author in PERSONAS
            else message_pb2.AUTHOR_KIND_HUMAN
        )
        return message_pb2.Message(
            id=line.id, author={"id": line.author, "name": f"Wren{line.author[1:]}", "kind": bot},
            role=message_pb2.ROLE_ASSISTANT if line.is_assistant else message_pb2.ROLE_USER,
            parts=[{"text": {"text": line.text(self.rng)}}], sent_at_ms=line.at_ms,
            reply={"message_id": line.parent.id} if line.parent else None,
            mentions=[{"user_id": one} for one in line.mentions], session_id=line.session or None,
            audience=sorted(line.audience), partial=line.is_partial,
        )  # fmt: skip

    # --- changes between builds ---

    async def change(self) -> None:
        """Something happens in one of the channels."""
        channel = self.rng.choice(self.channels)
        what = self.rng.choices(["line", "say", "guest", "sum"], [6, 2, 4, 1])[0]
        if what == "say" and len(channel.lines) < 75:
            await self._say(channel, 1)
        elif what == "guest" and channel.meetings:
            await self._come_and_go(channel, self.rng.choice(channel.meetings))
        elif what == "sum":
            await self.summarise(self.rng.choice(self.channels[7::50]))
        else:
            await self._change_line(channel)

    async def _come_and_go(self, channel: Channel, meeting: Meeting) -> None:
        """Somebody leaves, comes back, comes, or observes otherwise."""
        ref = pb.SessionRef(session_id=meeting.id)
        guest = self.rng.choice(
            [meeting.guests.get(one) or Guest(one, PRESENT, []) for one in PEOPLE]
        )
        place = len(channel.lines)
        if guest.id not in meeting.guests:
            meeting.guests[guest.id] = guest
            guest.observe = self.rng.choice([ALL, PRESENT, ADDRESSED])
            guest.stays.append(Stay(after_place=place))
        elif guest.stays and guest.stays[-1].is_over:
            guest.stays.append(Stay(after_place=place))
        elif self.rng.random() < 0.3:
            guest.observe = self.rng.choice([ALL, PRESENT, ADDRESSED, NONE])
        else:
            last = guest.stays[-1] if guest.stays else Stay()
            guest.stays[-1:] = [last]
            left_at_ms = None
            if self.rng.random() < 0.5:
                left_at_ms = last.left_at_ms = NOON_MS - self.rng.randint(0, 9_000_000)
            else:
                last.until_place = place
            await self.chat.stub.RemoveParticipants(
                pb.RemoveParticipantsRequest(
                    session=ref, participant_ids=[guest.id], left_at_ms=left_at_ms
                )
            )
            return
        await self.chat.stub.PutParticipants(
            pb.PutParticipantsRequest(session=ref, participants=[guest.proto(with_stays=False)])
        )

    async def _change_line(self, channel: Channel) -> None:
        line = self.rng.choice(channel.lines)
        named = {"channel": channel.name, "message_id": line.id}
        if line.is_gone:
            return
        what = self.rng.choices(["edit", "recall", "erase", "pin"], [5, 2, 1, 2])[0]
        if what == "edit":
            line.revision += 1
            line.mentions = tuple(self.rng.sample(PEOPLE, 1)) if self.rng.random() < 0.25 else ()
            await self.history.EditMessage(
                history_pb2.EditMessageRequest(
                    **named, parts=[{"text": {"text": line.text(self.rng)}}],
                    mentions=[{"user_id": one} for one in line.mentions],
                )
            )  # fmt: skip
        elif what == "pin":
            await self.history.PinMessage(history_pb2.PinMessageRequest(**named))
        elif what == "recall":
            line.is_gone = True
            await self.history.RecallMessage(history_pb2.RecallMessageRequest(**named))
        else:
            line.is_gone = line.is_erased = True
            erased = history_pb2.EraseRequest(channel=channel.name, message_ids=[line.id])
            await self.history.Erase(erased)

    async def summarise(self, channel: Channel) -> None:
        """The whole channel, and each of its sessions, in the people's own words."""
        asked = cpb.CompactRequest(channel=channel.name, without_model=True)
        await self.chat.contexts.Compact(asked)
        for meeting in channel.meetings:
            conversation = Conversation(ChannelKey(TENANT, channel.name), "", meeting.id)
            await self.chat.app.summaries.compact(conversation, with_model=False)

    # --- builds ---

    def draw(self) -> tuple[cpb.BuildContextRequest, Eyes, Channel]:
        """A request, and the oracle's view of it."""
        rng = self.rng
        channel = rng.choice(self.channels[7::50] if rng.random() < 0.1 else self.channels)
        meeting = rng.choice(channel.meetings) if channel.meetings and rng.random() < 0.7 else None
        is_anywhere = meeting is None and rng.random() < 0.05
        asker = rng.choice(PEOPLE) if is_anywhere or rng.random() < 0.6 else ""
        viewer = rng.choice([*(meeting.guests if meeting else PEOPLE), *PEOPLE, "", STRANGER])
        self_ids = rng.choice([(), (), ("w7",), ("w6", "w5"), (viewer,) if viewer else ()])
        request = cpb.BuildContextRequest(
            channel="" if is_anywhere or (meeting and rng.random() < 0.3) else channel.name,
            question=GO_ON if rng.random() < 0.05 else rng.choice(QUESTIONS),
            self_ids=self_ids, profile=rng.choice(CHEAP if rng.random() < 0.6 else DEAR),
            layout=rng.randint(0, 4), explain=rng.random() < 0.15, include_names=rng.random() < 0.2,
            speaker_style=rng.choice([0, 0, 1, 2]), include_system=rng.random() < 0.1,
            payload_formats=rng.choice([(), (), (1,), (3, 4), (1, 3, 4, 5)]),
            without_summary=rng.random() < 0.1,
        )  # fmt: skip
        if asker:
            request.asker.id = asker
        if viewer and (viewer,) != self_ids:
            request.viewer_id = viewer
        viewer = request.viewer_id or next(iter(self_ids), "")
        if meeting is not None:
            request.session_id = meeting.alias if rng.random() < 0.2 else meeting.id
        elif rng.random() < 0.1 and not is_anywhere:
            request.session_id = f"ghost-{channel.number}"
        if rng.random() < 0.2:
            request.token_budget = rng.choice([200, 700, 50_000])
        trigger, quoted = self._edges(request, channel, is_anywhere=is_anywhere)
        if rng.random() < 0.1 and trigger is None:
            request.asked_at_ms = NOON_MS - rng.randint(0, 30_000_000)
        visible, allowed = rng.choices([0, 1, ALLOWLIST, QUOTE], [10, 1, 3, 3])[0], frozenset[str]()
        request.author_visibility = visible
        if rng.random() < 0.7 and visible:
            allowed = frozenset(rng.sample(PEOPLE, rng.randint(0, 3)))
            request.allowed_author_ids.extend(sorted(allowed))
        if meeting is not None:
            visible, allowed = visible or meeting.visibility, allowed or meeting.allowed
            allowed |= meeting.guests.keys()
        asks = asker or ("" if trigger is None else trigger.author)
        eyes = Eyes(
            viewer, asks, meeting, visible, frozenset({*allowed, *self_ids, asks, viewer}), not self_ids,
            quoted, request.asked_at_ms if request.HasField("asked_at_ms") else None, is_anywhere,
        )  # fmt: skip
        return request, eyes, channel

    def _edges(
        self, request: cpb.BuildContextRequest, channel: Channel, *, is_anywhere: bool
    ) -> tuple[Line | None, Line | None]:
        """What the question is stored as, and what it replies to, whether or not that may be seen."""
        rng, trigger, quoted = self.rng, None, None
        if is_anywhere:
            return None, None
        if rng.random() < 0.15:
            trigger = rng.choice([one for one in channel.lines if not one.is_gone])
            request.trigger_message_id = trigger.id
            quoted = trigger.parent
            if rng.random() < 0.3:
                request.question = ""
        if rng.random() < 0.3:
            quoted = rng.choice(channel.lines)
            request.reply.message_id = quoted.id
        if rng.random() < 0.2:
            request.mentions.add(user_id=rng.choice(PEOPLE))
        return trigger, quoted

    def wants_all(self, request: cpb.BuildContextRequest) -> None:
        """Ask for everything that may be seen."""
        request.profile, request.token_budget, request.question = "room", 500_000, QUESTIONS[0]
        request.overrides.max_context = request.overrides.recent_limit = ALL_OF_IT
        for name in ("trigger_message_id", "reply", "asked_at_ms"):
            request.ClearField(name)

    def judge(
        self,
        request: cpb.BuildContextRequest,
        eyes: Eyes,
        channel: Channel,
        raw: bytes,
        *,
        whole: bool,
    ) -> None:
        """Hold an answer against the oracle. `whole`: everything that may be shown must be."""
        answer = cpb.BuildContextResponse.FromString(raw)
        told = f"{request}\n{eyes}"
        shown: set[int] = set()
        if request.question and answer.HasField("trigger"):  # the caller named it
            answer.ClearField("trigger")
            raw = answer.SerializeToString()
        for number, place, revision in CANARY.findall(raw):
            line = self.channels[int(number)].lines[int(place)]
            is_question = line.id == request.trigger_message_id and not request.question
            assert eyes.is_anywhere or line.channel is channel, (line, told)
            assert int(revision) == line.revision, (line, told)
            if is_question and line.channel is channel:
                continue
            assert eyes.may_see(line), (line, told)
            shown.add(line.place)
        for item in answer.items:
            line = self.channels[int(item.message.channel[1:])].lines[int(item.message.id[1:])]
            assert eyes.is_anywhere or (line.channel is channel and item.channel == ""), (
                line,
                told,
            )
            assert eyes.may_see(line), (line, told)
            assert RULES[item.visible_by] == eyes.rule(line), (line, told)
            self.seen[RULES[item.visible_by]] += 1
        if not eyes.is_anywhere:
            for one in answer.explanation.candidates:
                line = channel.lines[int(one.message_id[1:])]
                assert line.is_gone or eyes.may_see(line), (line, one, told)
        self.seen["lines"] += len(shown)
        self.seen["summary"] += answer.HasField("summary")
        self.seen[f"profile {answer.profile}"] += 1
        if whole and not eyes.is_anywhere:
            expected = {
                one.place for one in channel.lines if eyes.may_see(one) and not one.is_partial
            }
            found = {int(one.message.id[1:]) for one in answer.items if not one.message.partial}
            assert found == expected, (found ^ expected, told)
            self.seen["whole"] += 1

    async def build(self, *, over_grpc: bool = False) -> None:
        """One build for somebody, judged."""
        request, eyes, channel = self.draw()
        if whole := self.rng.random() < 0.2 and not eyes.is_anywhere:
            self.wants_all(request)
            if eyes.asker:  # whom a trigger told
                request.asker.id = eyes.asker
            eyes.quoted = eyes.asked_at_ms = None
        if over_grpc:
            answer = await self.chat.contexts.BuildContext(request)
            raw = answer.SerializeToString()
            self.seen["gRPC"] += 1
        else:
            raw = await built_in_process(self.chat.app, request)
        self.judge(request, eyes, channel, raw, whole=whole)

    async def builds(self, count: int, *, grpc_every: int) -> None:
        """So many builds, with a change before each eighth."""
        for number in range(count):
            if number % 8 == 0:
                await self.change()
            await self.build(over_grpc=number % grpc_every == 0)


async def built_in_process(app: App, request: cpb.BuildContextRequest) -> bytes:
    """What the server answers, without the network."""
    copy = cpb.BuildContextRequest.FromString(request.SerializeToString())  # translating empties it
    asked = build_request(copy, TENANT, None)
    return bytes(encode_built(await app.builder.build(asked), "test"))


async def run(
    channels: int, builds: int, *, grpc_every: int, seed: int, database: Path | str = ":memory:"
) -> Counter[str]:
    """All of it on a server of its own; what was seen on the way."""
    async with (
        room(database=database, clock=StillClock(), compaction="off") as chat,
        grpc.aio.insecure_channel(chat.client._target) as wire,
    ):
        world = World(chat, history_pb2_grpc.HistoryServiceStub(wire), seed)
        await world.fill(channels)
        await world.builds(builds, grpc_every=grpc_every)
    return world.seen


def check_seen(seen: Counter[str], profiles: Sequence[str] = DEAR) -> None:
    """Nothing of what is tried was left out by chance."""
    rules = ("CHANNEL", "SESSION", "AUDIENCE", "AUTHOR", "MEMBERSHIP", "QUOTE", "USER_SCOPE")
    tried = (*rules, "summary", "whole", "gRPC", *(f"profile {one}" for one in profiles))
    assert not [one for one in tried if not seen[one]], seen


@pytest.mark.row("N-11", "N-18")
async def test_nobody_is_shown_what_is_not_meant() -> None:
    """1,500 builds of 60 channels, each eighth over gRPC."""
    check_seen(await run(60, 1_500, grpc_every=8, seed=1))


@pytest.fixture(params=["everything", "sessions", "audiences", "authors", "presence"])
def broken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A server that forgets one of the things that keep a line from somebody."""

    def nothing(view: Any, *_: Any) -> Any:
        return view

    def of_all(view: Any, *_: Any) -> Any:
        return view.state == view.state

    whole = visibility._meant
    if request.param == "everything":
        monkeypatch.setattr(visibility, "withheld", nothing)
        monkeypatch.setattr(moment, "withheld", nothing)  # it has the function by name
    elif request.param == "sessions":
        monkeypatch.setattr(
            visibility, "_meant", lambda view, viewer: whole(view, of_no_session(viewer))
        )
    elif request.param == "audiences":
        monkeypatch.setattr(visibility, "_meant", of_all)
    elif request.param == "authors":
        monkeypatch.setattr(visibility, "_allowed", of_all)
    else:
        monkeypatch.setattr(visibility, "_there", of_all)
    return request.param


def of_no_session(viewer: visibility.Viewer) -> visibility.Viewer:
    return replace(viewer, session_id="")


async def test_a_server_that_heeds_everything_passes_these() -> None:
    """What the next test needs, so that it tells of what is broken there and of nothing else."""
    await run(30, 400, grpc_every=50, seed=2)


async def test_a_server_that_forgets_is_found_out(broken: str) -> None:
    """A test of the test: whatever is not heeded, a few hundred builds tell."""
    with pytest.raises(AssertionError, match=r"Line|found"):
        await run(30, 400, grpc_every=50, seed=2)
