"""What happens in the channels that both servers are asked about: real chats, and all that may be done to one.

Lines of Ubuntu IRC, KdConv and MADial-Bench, from the samples that ship. Everything is drawn from one seed.
"""

import random
from collections.abc import Iterator, Sequence

from google.protobuf.message import Message

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    feedback_pb2,
    history_pb2,
    learning_pb2,
    message_pb2,
    preference_pb2,
)
from backscroll.v1 import session_pb2 as pb
from backscroll_bench.quality import find_set, read_set, shipped_sets
from backscroll_bench.speed.chats import Said
from tests.golden.answers.channels import (
    DAY_MS,
    HOUR_MS,
    ODD_TEXTS,
    Channel,
    lived_in,
    plain,
    text_part,
)
from tests.integration.rooms.room import ANN, BOB, CATS

ROOM, FORK, GAME = "s-cats", "s-fork", "s-game"
"""Sessions; each has a channel of the same name."""
IMPORTED, GONE, EMPTY = "imported", "gone", "nowhere"
NOW_MS = 1_795_176_000_000

Step = Sequence[Message]
"""A request, or a stream of some."""
Chats = dict[str, Channel]
"""By name."""


def said(*, is_short: bool) -> Chats:
    """What people said; `is_short`: a quarter of it."""
    part = 4 if is_short else 1
    made = [
        plain("irc", 400 // part, skip=0),
        plain("kdconv", 300 // part, skip=1_150),
        plain("long", 2_500 // part, skip=4_000),
        lived_in("lived", 500 // part, skip=300, seed=1),
        lived_in("住过", 400 // part, skip=1_500, seed=2),
        plain(GONE, 60, skip=9_500),
        _memories("madial_zh"),
        _memories("madial_en"),
    ]
    return {one.name: one for one in made}


def _memories(name: str) -> Channel:
    """Entries of people's lives, and what is said where they should be recalled."""
    with shipped_sets() as shipped:
        chat = read_set(*find_set(shipped[name]))
    (lines,) = chat.groups.values()
    messages = [Said(line.message_id, line, line.timestamp).message() for line in lines]
    asked = [Said(one.question_id, one.line, one.line.timestamp) for one in chat.questions]
    return Channel(name, messages, upcoming=asked)


def steps(chats: Chats) -> Iterator[Step]:
    """Everything that is done, in order. Some of it is refused, by both."""
    draw = random.Random(36)
    for channel in chats.values():
        for one in channel.steps():
            yield (one,)
        yield (history_pb2.WaitForIndexRequest(channel=channel.name, timeout_ms=60_000),)
    yield from _imported()
    yield from _people(chats, draw)
    yield from _changed(chats, draw)
    yield from _room()
    yield from _erased(chats, draw)
    yield from _summarised(chats)


def _imported() -> Iterator[Step]:
    """An export of another place: other ids, stays, a line taken back, a reply to what is not there."""
    lines = plain(IMPORTED, 80, skip=6_800).messages
    for number, one in enumerate(lines):
        one.alias_ids.append(f"old:{number}")
        one.recalled = number in (5, 51)  # one a call: several are taken back at once, in any order
        one.rank_time_ms = one.sent_at_ms + number % 3
    lines[9].reply.message_id = "old:2"
    lines[10].reply.message_id = "unknown"
    stays = [
        history_pb2.Stay(joined_at_ms=lines[0].sent_at_ms, left_at_ms=lines[20].sent_at_ms),
        history_pb2.Stay(joined_at_ms=lines[50].sent_at_ms),
    ]
    member = history_pb2.Member(
        user_id=lines[3].author.id, name="Old Hand", former_names=["Newcomer"], role="owner", stays=stays
    )  # fmt: skip
    yield (
        history_pb2.ImportMessagesRequest(channel=IMPORTED, messages=lines[:40], members=[member]),
        history_pb2.ImportMessagesRequest(messages=lines[30:]),
    )


def _people(chats: Chats, draw: random.Random) -> Iterator[Step]:
    """Names, stays, preferences that follow each other, and settings of channels."""
    for name, channel in chats.items():
        people = sorted({one.author.id for one in channel.messages})
        for person in draw.sample(people, min(3, len(people))):
            member = history_pb2.Member(
                user_id=person, name=draw.choice(["小明", "Ann", person]), aliases=["Al", "阿明"],
                joined_at_ms=channel.last_ms - 5 * HOUR_MS,
            )  # fmt: skip
            if draw.random() < 0.3:
                member.left_at_ms = channel.last_ms - HOUR_MS
            yield (history_pb2.UpsertMembersRequest(channel=name, members=[member]),)
            for number, value in enumerate(draw.sample(["tea", "coffee", "水"], 2)):
                kept = preference_pb2.Preference(
                    id=f"{name}-{person}-{number}", user_id=person, channel=draw.choice([name, ""]),
                    text=f"drinks {value}", topic="drink", value=value,
                )  # fmt: skip
                if draw.random() < 0.3:
                    kept.valid_until_ms = channel.last_ms + DAY_MS
                yield (preference_pb2.SetPreferenceRequest(preference=kept),)
    yield (preference_pb2.DeletePreferenceRequest(user_id="nobody", all_channels=True),)
    for set_ in (
        admin_pb2.ChannelSettings(channel="irc", sharing=admin_pb2.Sharing(groups=["g"])),
        admin_pb2.ChannelSettings(channel="kdconv", sharing=admin_pb2.Sharing(groups=["g"], max_messages=4)),
        admin_pb2.ChannelSettings(channel="lived", overrides=context_pb2.Overrides(max_context=30)),
        admin_pb2.ChannelSettings(channel="住过", profile="hybrid", collect_usage=True),
        admin_pb2.ChannelSettings(
            channel=GONE, redaction=admin_pb2.Redaction(kinds=[admin_pb2.REDACTION_KIND_EMAIL])
        ),
    ):  # fmt: skip
        yield (admin_pb2.SetChannelSettingsRequest(settings=set_),)


def _changed(chats: Chats, draw: random.Random) -> Iterator[Step]:
    """Edits, recalls, aliases, pins, labels; the same messages again, others under their ids, late ones."""
    for name, channel in chats.items():
        some = draw.sample(channel.messages, 24)
        for one in some[:6]:
            edit = history_pb2.EditMessageRequest(
                channel=name, message_id=one.id, edited_at_ms=one.sent_at_ms + HOUR_MS
            )
            edit.parts.append(
                text_part(draw.choice([*ODD_TEXTS, "now about trains, not about cats"]))
            )
            edit.mentions.add(user_id=some[0].author.id)
            yield (edit,)
        for one in some[4:10]:
            yield (history_pb2.RecallMessageRequest(channel=name, message_id=one.id),)
        for number, one in enumerate(some[8:14]):
            alias = history_pb2.AliasMessageRequest(
                channel=name, message_id=one.id, alias_id=f"alias:{name}:{number % 5}"
            )
            yield (alias,)
        for one in some[12:18]:
            yield (history_pb2.PinMessageRequest(channel=name, message_id=one.id),)
        yield (history_pb2.UnpinMessageRequest(channel=name, message_id=some[13].id),)
        yield (
            learning_pb2.SetTopicLabelsRequest(
                channel=name, label=draw.choice(["drivers", "猫"]), message_ids=[one.id for one in some[:3]]
            ),
        )  # fmt: skip
        again = [some[20], some[5], some[21]]
        other = message_pb2.Message(id=some[22].id, author=ANN, parts=[text_part("mine")])
        late = message_pb2.Message(
            id=f"late:{name}", author=BOB, parts=[text_part("what was said about cats?")],
            sent_at_ms=some[20].sent_at_ms, dedupe_key=f"once:{name}", thread_id="t1",
        )  # fmt: skip
        late.reply.message_id = f"alias:{name}:1"
        twice = message_pb2.Message(
            id=f"twice:{name}", author=BOB, parts=[text_part("again")], dedupe_key=f"once:{name}"
        )
        wrong = message_pb2.Message(id="", author=BOB)
        for some_messages in ([*again, other, late, twice, wrong], [late, twice]):
            yield (history_pb2.AppendMessagesRequest(channel=name, messages=some_messages),)


def _room() -> Iterator[Step]:
    """Personas that answer each other, what only some may know, a fork, a game."""
    policy = pb.RoomPolicy(unaddressed=pb.UNADDRESSED_ALL, sequential=True, question_label="问: ")
    yield (pb.PutSpaceRequest(space=pb.Space(slug="cats", participants=CATS, policy=policy)),)
    humans = [
        pb.Participant(id=one.id, name=one.name, kind=pb.PARTICIPANT_KIND_HUMAN)
        for one in (ANN, BOB)
    ]
    session = pb.Session(
        session_id=ROOM, space="cats", channel=ROOM, owner_id="u1", title="三只猫",
        aliases=["the cats"], participants=humans, created_at_ms=NOW_MS,
    )  # fmt: skip
    yield (pb.CreateSessionRequest(session=session),)
    yield (pb.CreateSessionRequest(session=session),)
    ref = pb.SessionRef(session_id=ROOM, space="cats")
    for number, text in enumerate(
        ("@小黑 写一个函数", "@小白 评审一下", "what do you all think?", "@Blacky fix it", "@小灰 测试", "ok")
    ):  # fmt: skip
        said = message_pb2.Message(
            id=f"r{number}", author=(ANN, BOB)[number % 2], parts=[text_part(text)]
        )
        yield (pb.RouteMessageRequest(session=ref, message=said),)
        yield (pb.StartRoundRequest(request_id=f"round{number}", session=ref, message=said),)
        yield (pb.StartRoundRequest(request_id=f"round{number}", session=ref, message=said),)
    for number, audience in enumerate((["black"], ["u1", "grey"], ["white"])):
        secret = message_pb2.Message(
            id=f"secret{number}", author=BOB, parts=[text_part(f"secret {number} of the cats")],
            session_id=ROOM, audience=audience,
        )  # fmt: skip
        yield (history_pb2.AppendMessagesRequest(channel=ROOM, messages=[secret]),)
    yield (pb.RemoveParticipantsRequest(session=ref, participant_ids=["grey"]),)
    nicknamed = pb.Participant(
        id="white", kind=pb.PARTICIPANT_KIND_PERSONA, name="小白", nickname="白白"
    )
    yield (pb.PutParticipantsRequest(session=ref, participants=[nicknamed]),)
    yield (pb.ForkSessionRequest(session=ref, message_id="r3", new_session_id=FORK),)
    yield (pb.UpdateSessionRequest(session=ref, title="两只猫", add_aliases=["cats"]),)
    yield (feedback_pb2.RecordFeedbackRequest(
        channel=ROOM, reply_message_id="r1", user_id="u1", rating=5, text="good"
    ),)  # fmt: skip


def _erased(chats: Chats, draw: random.Random) -> Iterator[Step]:
    """Messages, a person, a whole channel; what was erased is sent again, and retracted."""
    for name in ("irc", "lived", "住过", "madial_zh"):
        messages = chats[name].messages
        victims = [one.id for one in draw.sample(messages, 4)]
        for is_dry in (True, False):
            yield (history_pb2.EraseRequest(channel=name, message_ids=victims, dry_run=is_dry),)
        again = [one for one in messages if one.id in victims]
        yield (history_pb2.AppendMessagesRequest(channel=name, messages=again),)
        yield (history_pb2.RecallMessageRequest(channel=name, message_id=victims[0]),)
    yield (history_pb2.EraseRequest(
        channel="long", user_id=draw.choice(chats["long"].messages).author.id
    ),)  # fmt: skip
    everywhere = chats["lived"].messages[-1].author.id
    yield (history_pb2.EraseRequest(user_id=everywhere, all_channels=True),)
    yield (history_pb2.EraseRequest(channel=GONE, whole_channel=True),)
    yield (history_pb2.AppendMessagesRequest(channel=GONE, messages=chats[GONE].messages[:20]),)


def _summarised(chats: Chats) -> Iterator[Step]:
    """Summaries in the people's own words, of channels and of a thread; then a message of one is taken back."""
    for name in ("long", "lived", "住过", "kdconv", ROOM):
        yield (context_pb2.CompactRequest(channel=name, without_model=True, focus="cats"),)
    yield (context_pb2.CompactRequest(channel="lived", thread_id="t1", without_model=True),)
    for name in ("long", "lived"):
        early = chats[name].messages[11].id
        yield (history_pb2.RecallMessageRequest(channel=name, message_id=early),)
    yield (context_pb2.CompactRequest(channel="lived", without_model=True),)
