"""Ways around a limit of a key, each tried over both edges (P-17)."""

from typing import Any

import grpc
import pytest

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    feedback_pb2,
    history_pb2,
    learning_pb2,
    message_pb2,
    preference_pb2,
    session_pb2,
)
from backscroll_sidecar.edge.listeners import EdgeName
from tests.integration.edge.keys.worlds import (
    ASKER,
    FOREIGN,
    MISSING,
    OWN,
    SECRET,
    Told,
    World,
    message,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.row("P-17")]
Status = grpc.StatusCode
h, c, s, pr = history_pb2, context_pb2, session_pb2, preference_pb2
ANN = message_pb2.Author(id=ASKER)


async def ask(world: World, edge: EdgeName, name: str, *requests: Any) -> Told:
    return await world.call(edge, name, requests, "limited")


def is_hidden(told: Told) -> bool:
    return SECRET.encode() not in told.bytes and FOREIGN.encode() not in told.bytes


async def test_messages_of_an_author_across_channels(world: World, edge: EdgeName) -> None:
    everywhere = h.ListMessagesRequest(author_id=ASKER)
    told = await ask(world, edge, "HistoryService/ListMessages", everywhere)
    assert {one.message.channel for one in told.answers[0].messages} == {OWN}
    whole = await world.answer("HistoryService/ListMessages", everywhere)
    assert {one.message.channel for one in whole.messages} >= {OWN, FOREIGN}
    for field, request in (
        ("channels[1]", h.ListMessagesRequest(author_id=ASKER, channels=[OWN, FOREIGN])),
        ("channel", h.ListMessagesRequest(channel=FOREIGN, message_ids=["m-b"])),
    ):
        told = await ask(world, edge, "HistoryService/ListMessages", request)
        assert told.refused is not None
        assert (told.refused.reason, told.refused.field) == ("NOT_ALLOWED", field)
    nobody = h.ListMessagesRequest(author_id="of the other channel only")
    await world.answer(
        "HistoryService/AppendMessages",
        h.AppendMessagesRequest(
            channel=FOREIGN, messages=[message("m-x", SECRET, nobody.author_id)]
        ),
    )
    told = await ask(world, edge, "HistoryService/ListMessages", nobody)
    assert told.code is Status.OK
    assert not told.answers[0].messages


@pytest.mark.parametrize("scope", [h.SEARCH_SCOPE_USER, h.SEARCH_SCOPE_TENANT])
async def test_a_search_by_meaning_across_channels(
    world: World, edge: EdgeName, scope: Any
) -> None:
    request = h.SearchMessagesRequest(
        query="vault opens", scope=scope, user_id=ASKER if scope == h.SEARCH_SCOPE_USER else ""
    )
    whole = await world.answer("HistoryService/SearchMessages", request)
    assert FOREIGN in {one.message.message.channel for one in whole.hits}
    told = await ask(world, edge, "HistoryService/SearchMessages", request)
    assert {one.message.message.channel for one in told.answers[0].hits} == {OWN}


@pytest.mark.parametrize("explain", [False, True])
async def test_candidates_from_elsewhere_in_builds_and_in_their_records(
    world: World, edge: EdgeName, explain: bool
) -> None:
    request = c.BuildContextRequest(
        channel=OWN,
        question="when does the vault open?",
        asker=ANN,
        semantic_scope=h.SEARCH_SCOPE_TENANT,
        profile="hybrid",
        explain=explain,
    )
    whole = await world.answer("ContextService/BuildContext", request)
    assert FOREIGN in {one.channel for one in whole.items}
    told = await ask(world, edge, "ContextService/BuildContext", request)
    assert told.code is Status.OK
    assert told.answers[0].items
    assert is_hidden(told)
    # The record of a build that another key asked for names no candidate of the other channel.
    one = admin_pb2.GetUsageRecordRequest(context_id=whole.context_id)
    record = await world.answer("AdminService/GetUsageRecord", one)
    assert FOREIGN in {candidate.channel for candidate in record.record.candidates}
    told = await ask(world, edge, "AdminService/GetUsageRecord", one)
    assert told.answers[0].record.candidates
    assert is_hidden(told)
    listed = await ask(
        world,
        edge,
        "AdminService/ListUsageRecords",
        admin_pb2.ListUsageRecordsRequest(with_candidates=True),
    )
    assert {each.channel for each in listed.answers[0].records} == {OWN}
    assert is_hidden(listed)
    exported = await ask(
        world,
        edge,
        "LearningService/ExportUsageRecords",
        learning_pb2.ExportUsageRecordsRequest(with_texts=True),
    )
    builds = [build for answer in exported.answers for build in answer.builds]
    assert {build.record.channel for build in builds} == {OWN}
    assert exported.answers[-1].summary.build_count == len(builds)
    assert is_hidden(exported)


async def test_a_build_without_a_channel_is_of_the_askers_allowed_ones(
    world: World, edge: EdgeName
) -> None:
    request = c.BuildContextRequest(question="when does the vault open?", asker=ANN)
    whole = await world.answer("ContextService/BuildContext", request)
    assert SECRET in str(whole)
    told = await ask(world, edge, "ContextService/BuildContext", request)
    assert told.answers[0].items
    assert is_hidden(told)
    nobody = c.BuildContextRequest(question="?", asker=message_pb2.Author(id="nobody"))
    assert (await ask(world, edge, "ContextService/BuildContext", nobody)).code is Status.OK


async def test_a_session_of_another_channel_in_a_build(world: World, edge: EdgeName) -> None:
    """By its id and by its alias it is as one that is not there."""
    for session_id in (world.foreign.session_id, "al-b", "s-none"):
        request = c.BuildContextRequest(question="?", asker=ANN, session_id=session_id)
        told = await ask(world, edge, "ContextService/BuildContext", request)
        assert told.code is Status.OK
        assert is_hidden(told)
        assert told.answers[0].channel in {"", OWN}
        inside = c.BuildContextRequest(channel=OWN, question="?", asker=ANN, session_id=session_id)
        assert (await ask(world, edge, "ContextService/BuildContext", inside)).code is Status.OK


@pytest.mark.parametrize("name", ["ContextService/Chat", "ContextService/StreamChat"])
async def test_a_turn_of_another_channel_is_not_continued(
    world: World, edge: EdgeName, name: str
) -> None:
    def turn(turn_id: str) -> Any:
        request = c.StreamChatRequest(
            turn_id=turn_id, tool_results=[c.ToolResult(call_id="call-1", text="fine")]
        )
        return c.ChatRequest(turn=request) if name.endswith("/Chat") else request

    assert world.foreign.turn_id
    there = await ask(world, edge, name, turn(world.foreign.turn_id))
    nowhere = await ask(world, edge, name, turn("t-none"))
    assert there.refused is not None
    assert there.refused.reason == "TURN_NOT_FOUND"
    assert there.refused == nowhere.refused


async def test_feedback_on_a_build_of_another_channel(world: World, edge: EdgeName) -> None:
    def given(context_id: str) -> Any:
        return feedback_pb2.RecordFeedbackRequest(context_id=context_id, rating=1, user_id="x")

    there = await ask(
        world, edge, "FeedbackService/RecordFeedback", given(world.foreign.context_id)
    )
    nowhere = await ask(world, edge, "FeedbackService/RecordFeedback", given("c-none"))
    assert there.refused is not None
    assert there.refused == nowhere.refused
    record = await world.answer(
        "AdminService/GetUsageRecord",
        admin_pb2.GetUsageRecordRequest(context_id=world.foreign.context_id),
    )
    assert not record.record.signals


async def test_an_answer_joined_to_a_build_of_another_channel(world: World, edge: EdgeName) -> None:
    """A context id of another channel gives an appended answer to nothing."""
    reply = message(f"reply-{edge}", "forged", "bot", role=message_pb2.ROLE_ASSISTANT)
    told = await ask(
        world,
        edge,
        "HistoryService/AppendMessages",
        h.AppendMessagesRequest(channel=OWN, messages=[reply], context_id=world.foreign.context_id),
    )
    assert told.code is Status.OK
    record = await world.answer(
        "AdminService/GetUsageRecord",
        admin_pb2.GetUsageRecordRequest(context_id=world.foreign.context_id),
    )
    assert not record.record.HasField("llm_response")


async def test_an_import_of_several_channels(world: World, edge: EdgeName) -> None:
    """Nothing of a batch that names another channel is stored, wherever it names it."""
    for field, request in (
        ("channel", h.ImportMessagesRequest(channel=FOREIGN, messages=[message("i1", "x")])),
        (
            "channel",
            h.ImportMessagesRequest(channel=FOREIGN, messages=[message("i1", "x", channel=OWN)]),
        ),
        (
            "messages[1].channel",
            h.ImportMessagesRequest(
                messages=[
                    message("i1", "x", channel=OWN),
                    message("i2", "x", channel=FOREIGN),
                ]
            ),
        ),
    ):
        good = h.ImportMessagesRequest(messages=[message(f"ok-{edge}", "fine", channel=OWN)])
        told = await ask(world, edge, "HistoryService/ImportMessages", good, request)
        assert told.refused is not None
        assert (told.refused.reason, told.refused.field) == ("NOT_ALLOWED", field)
    found = await world.answer("HistoryService/ListMessages", h.ListMessagesRequest(channel=OWN))
    ids = {one.message.id for one in found.messages}
    assert f"ok-{edge}" in ids
    assert "i1" not in ids
    told = await ask(
        world,
        edge,
        "HistoryService/AppendMessages",
        h.AppendMessagesRequest(channel=OWN, messages=[message("i3", "x", channel=FOREIGN)]),
    )
    assert told.answers[0].results[0].outcome == h.APPEND_OUTCOME_REFUSED


async def test_pages_go_on_with_what_the_asking_key_may_see(world: World, edge: EdgeName) -> None:
    """A token that the whole tenant's key was given moves a limited key nowhere else."""
    for channel in ("guild-1/c", "guild-2/c", "guild-3/c", "guild-1/d"):
        await world.answer(
            "HistoryService/AppendMessages",
            h.AppendMessagesRequest(channel=channel, messages=[message("m", "hello")]),
        )
    first = await world.answer("HistoryService/ListChannels", h.ListChannelsRequest(limit=1))
    assert first.channels[0].channel == OWN
    request = h.ListChannelsRequest(page_token=first.next_page_token)
    told = await ask(world, edge, "HistoryService/ListChannels", request)
    assert [one.channel for one in told.answers[0].channels] == ["guild-1/c", "guild-1/d"]
    names, token = [], ""
    while True:
        page = await ask(
            world,
            edge,
            "HistoryService/ListChannels",
            h.ListChannelsRequest(limit=1, page_token=token),
        )
        names += [one.channel for one in page.answers[0].channels]
        token = page.answers[0].next_page_token
        if not token:
            break
    assert names == [OWN, "guild-1/c", "guild-1/d"]
    wanted = h.ListChannelsRequest(name_contains="GUILD-2")
    assert not (await ask(world, edge, "HistoryService/ListChannels", wanted)).answers[0].channels
    exact = await world.call(
        edge, "HistoryService/ListChannels", [h.ListChannelsRequest()], "exact"
    )
    assert [one.channel for one in exact.answers[0].channels] == [OWN]


@pytest.mark.parametrize(
    ("name", "kind", "field"),
    [
        ("AdminService/ListUsageRecords", admin_pb2.ListUsageRecordsRequest, "records"),
        ("AdminService/ListChannelSettings", admin_pb2.ListChannelSettingsRequest, "settings"),
        ("SessionService/ListSessions", s.ListSessionsRequest, "sessions"),
    ],
)
async def test_pages_of_one_hold_everything_of_its_channels_once(
    world: World, edge: EdgeName, name: str, kind: Any, field: str
) -> None:
    """However much of other channels stands between."""
    whole = await world.answer(name, kind(limit=1_000))
    wanted = [one for one in getattr(whole, field) if one.channel.startswith("guild-1/")]
    assert 0 < len(wanted) < len(getattr(whole, field))
    found, token = [], ""
    while True:
        page = (await ask(world, edge, name, kind(limit=1, page_token=token))).answers[0]
        found += getattr(page, field)
        token = page.next_page_token
        if not token:
            break
    assert found == wanted


async def test_what_holds_in_every_channel_is_not_a_limited_keys_to_change(
    world: World, edge: EdgeName
) -> None:
    set_, delete = "PreferenceService/SetPreference", "PreferenceService/DeletePreference"
    everywhere = preference_pb2.Preference(user_id=ASKER, text="hold everywhere")
    await world.answer(set_, preference_pb2.SetPreferenceRequest(preference=everywhere))
    for name, field, request in (
        (
            set_,
            "preference.channel",
            preference_pb2.SetPreferenceRequest(preference=everywhere),
        ),
        (delete, "channel", preference_pb2.DeletePreferenceRequest(user_id=ASKER)),
    ):
        told = await ask(world, edge, name, request)
        assert told.refused is not None
        assert (told.refused.reason, told.refused.field) == ("NOT_ALLOWED", field)
    listed = await ask(
        world,
        edge,
        "PreferenceService/ListPreferences",
        preference_pb2.ListPreferencesRequest(user_id=ASKER),
    )
    assert "hold everywhere" in {one.text for one in listed.answers[0].preferences}
    assert {one.channel for one in listed.answers[0].preferences} == {"", OWN}


async def test_sessions_begin_where_the_key_may_be(world: World, edge: EdgeName) -> None:
    """A session without a channel has one of its own name: that must be allowed, too."""
    own_name = s.CreateSessionRequest(session=s.Session(session_id=f"new-{edge}"))
    told = await ask(world, edge, "SessionService/CreateSession", own_name)
    assert told.refused is not None
    assert (told.refused.reason, told.refused.field) == ("NOT_ALLOWED", "session.channel")
    for channel in ("", MISSING):
        start = s.StartRoundRequest(
            message=message("", "hello"), channel=channel, session=s.SessionRef()
        )
        told = await ask(world, edge, "SessionService/StartRound", start)
        assert told.refused is not None
        assert told.refused.reason == "NOT_ALLOWED"
    told = await ask(
        world,
        edge,
        "SessionService/ForkSession",
        s.ForkSessionRequest(session=s.SessionRef(session_id=world.own.session_id)),
    )
    assert told.refused is not None
    assert told.refused.field == "new_session_id"
    lines = ['{"session":{"sessionId":"taken-in","channel":"guild-2/b"}}']
    told = await ask(
        world, edge, "SessionService/ImportSession", s.ImportSessionRequest(lines=lines)
    )
    assert told.refused is not None
    assert told.refused.reason == "NOT_ALLOWED"


async def test_a_session_with_its_messages_needs_the_right_to_erase(
    world: World, edge: EdgeName
) -> None:
    request = s.DeleteSessionRequest(session=s.SessionRef(session_id="s-none"), erase_messages=True)
    told = await world.call(edge, "SessionService/DeleteSession", [request], "only-write")
    assert told.refused is not None
    assert told.refused.metadata["right"] == "erase"
    request.erase_messages = False
    told = await world.call(edge, "SessionService/DeleteSession", [request], "only-write")
    assert told.code is Status.OK


@pytest.mark.row("N-10")
async def test_an_erasure_beyond_its_channels_is_refused(world: World, edge: EdgeName) -> None:
    for request in (
        h.EraseRequest(user_id=ASKER, all_channels=True),
        h.EraseRequest(whole_tenant=True),
        h.EraseRequest(whole_tenant=True, dry_run=True),
        h.EraseRequest(channel=FOREIGN, whole_channel=True),
    ):
        told = await ask(world, edge, "HistoryService/Erase", request)
        assert told.refused is not None
        assert (told.refused.reason, told.refused.field) == ("NOT_ALLOWED", "channel")


@pytest.mark.row("N-10")
async def test_a_person_erased_of_its_channel_stays_elsewhere(world: World, edge: EdgeName) -> None:
    """A key may erase a person of its channel: what holds everywhere or in another one is not its to delete."""
    for channel in ("", OWN, FOREIGN):
        kept = pr.Preference(user_id="u7", channel=channel, text=f"keep it: {channel or 'all'}")
        await world.answer(
            "PreferenceService/SetPreference", pr.SetPreferenceRequest(preference=kept)
        )
    told = await ask(world, edge, "HistoryService/Erase", h.EraseRequest(channel=OWN, user_id="u7"))
    assert told.answers[0].erased_count_by_store["preferences"] == 1
    left = await world.answer(
        "PreferenceService/ListPreferences", pr.ListPreferencesRequest(user_id="u7")
    )
    assert [one.channel for one in left.preferences] == ["", FOREIGN]


async def test_a_stream_of_another_channel_sends_nothing(world: World, edge: EdgeName) -> None:
    for name, request in (
        ("HistoryService/ExportMessages", h.ExportMessagesRequest(channel=FOREIGN)),
        (
            "SessionService/ExportSession",
            s.ExportSessionRequest(session=s.SessionRef(session_id=world.foreign.session_id)),
        ),
        (
            "SessionService/ResumeRound",
            s.ResumeRoundRequest(
                session=s.SessionRef(session_id=world.foreign.session_id), request_id="r"
            ),
        ),
    ):
        told = await ask(world, edge, name, request)
        assert told.code in {Status.NOT_FOUND, Status.PERMISSION_DENIED}
        assert not told.answers


async def test_keys_are_replaced_while_calls_run(edge: EdgeName, world: World) -> None:
    """A key that is gone is nobody's from the next call on; a broken file changes nothing."""
    from backscroll_sidecar.errors import StartRefused
    from tests.integration.edge.keys.worlds import TOKENS

    running = world.running[edge]
    running.use_tokens({**TOKENS, "new": {"tenant": "acme", "rights": ["read"]}})
    name, request = "HistoryService/ListChannels", h.ListChannelsRequest()
    assert (await world.call(edge, name, [request], "new")).code is Status.OK
    with pytest.raises(StartRefused):
        running.use_tokens({"new": {"tenant": "acme", "rihgts": ["read"]}})
    assert (await world.call(edge, name, [request], "new")).code is Status.OK
    running.use_tokens(TOKENS)
    assert (await world.call(edge, name, [request], "new")).code is Status.UNAUTHENTICATED
    assert (await world.call(edge, name, [request], "full")).code is Status.OK
