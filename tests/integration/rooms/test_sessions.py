"""Sessions over a real socket: who they are, whose they are, how they are found, changed, listed, taken away."""

import asyncio
import json
from pathlib import Path

import grpc
import pytest

from backscroll import Message
from backscroll.errors import error_from
from backscroll.v1 import session_pb2 as pb
from backscroll.v1 import session_pb2_grpc
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.server import start_server
from backscroll_sidecar.wiring import open_app
from tests.integration.rooms.room import CATS, PERSONA, human, room, text_of


@pytest.mark.row("S4-05")
async def test_what_is_stored_of_a_session_is_returned(tmp_path: Path) -> None:
    database = tmp_path / "history.db"
    async with room(database=database) as chat:
        made = await chat.open(
            session_id="s1", space="cafe", project_id="p1", owner_id="ann", title="猫咖", parent_id="topic-7",
            channel="group", aliases=["old-1"], mode="free_chat", policy=pb.RoomPolicy(window_messages=7),
        )  # fmt: skip
    async with room(database=database) as chat:
        chat.session_id = "s1"
        found = await chat.session()
    assert found == made
    assert (found.parent_id, found.title, found.channel) == ("topic-7", "猫咖", "group")
    assert found.created_at_ms == found.updated_at_ms > 1_600_000_000_000
    assert [one.id for one in found.participants] == ["black", "white", "grey"]
    assert (found.mode, found.mode_state_json, found.state_version) == ("free_chat", "{}", 1)
    assert found.policy.window_messages == 7


async def test_a_retry_makes_no_second_session() -> None:
    async with room() as chat:
        first = pb.CreateSessionRequest(session=pb.Session(session_id="s1", participants=CATS))
        made = await chat.stub.CreateSession(first)
        again = await chat.stub.CreateSession(first)
        assert (made.created, again.created) == (True, False)
        assert again.session.created_at_ms == made.session.created_at_ms
        other = chat.stub.CreateSession(
            pb.CreateSessionRequest(session=pb.Session(session_id="s1", title="other"))
        )
        assert await chat.refused(other) == ("ABORTED", "CONFLICT", "session.session_id")


@pytest.mark.row("S4-04")
async def test_a_legacy_id_leads_to_the_session() -> None:
    """Under a space the id of the space is tried first; both forms load the same; the new one wins where they clash."""
    async with room() as chat:
        new = await chat.open(session_id="t1", space="cafe", aliases=["legacy-1"], title="new")
        old = await chat.open(session_id="t1", title="old")
        alone = await chat.open(session_id="t2", title="alone")
        titles = {}
        for name, ref in {
            "in its space": pb.SessionRef(session_id="t1", space="cafe"),
            "bare": pb.SessionRef(session_id="t1"),
            "alias": pb.SessionRef(session_id="legacy-1"),
            "alias in the space": pb.SessionRef(session_id="legacy-1", space="cafe"),
            "legacy in a space": pb.SessionRef(session_id="t2", space="cafe"),
        }.items():
            found = await chat.stub.GetSession(pb.GetSessionRequest(session=ref))
            titles[name] = found.session.title
        assert titles == {
            "in its space": "new", "bare": "old", "alias": "new", "alias in the space": "new",
            "legacy in a space": "alone",
        }  # fmt: skip
        assert len({new.channel, old.channel, alone.channel}) == 3
        lost = chat.stub.GetSession(pb.GetSessionRequest(session=pb.SessionRef(session_id="t9")))
        assert await chat.refused(lost) == ("NOT_FOUND", "SESSION_NOT_FOUND", "session.session_id")


async def test_an_id_wins_over_an_alias() -> None:
    async with room() as chat:
        await chat.open(session_id="a", aliases=["b"])
        await chat.open(session_id="b", title="itself")
        found = await chat.stub.GetSession(
            pb.GetSessionRequest(session=pb.SessionRef(session_id="b"))
        )
        assert found.session.title == "itself"
        taken = chat.stub.CreateSession(
            pb.CreateSessionRequest(session=pb.Session(session_id="c", aliases=["b"]))
        )
        assert await chat.refused(taken) == ("ABORTED", "CONFLICT", "session.aliases")


@pytest.mark.row("S4-16")
async def test_another_space_project_or_owner_is_refused() -> None:
    async with room() as chat:
        await chat.open(session_id="s1", space="cafe", project_id="p1", owner_id="ann")
        for field, ref in {
            "session.space": pb.SessionRef(session_id="s1", space="bar"),
            "session.project_id": pb.SessionRef(session_id="s1", project_id="p2"),
            "session.owner_id": pb.SessionRef(session_id="s1", owner_id="bob"),
        }.items():
            call = chat.stub.GetSession(pb.GetSessionRequest(session=ref))
            assert await chat.refused(call) == ("PERMISSION_DENIED", "NOT_ALLOWED", field)
            heard = await chat.say("你好", session=ref)
            assert heard.refusal.code.name == "PERMISSION_DENIED"
            acting = chat.stub.UpdateSession(pb.UpdateSessionRequest(session=ref, title="x"))
            assert (await chat.refused(acting))[0] == "PERMISSION_DENIED"
        assert await chat.history() == []
        whole = pb.SessionRef(session_id="s1", space="cafe", project_id="p1", owner_id="ann")
        assert (await chat.stub.GetSession(pb.GetSessionRequest(session=whole))).session.title == ""


@pytest.mark.row("S4-16")
async def test_a_session_of_another_tenant_is_refused() -> None:
    settings = Settings(database=Path(":memory:"), embedder="none")
    tokens = {"token-a": "a", "token-b": "b"}
    async with open_app(settings) as app:
        server = await start_server(app, listen=["127.0.0.1:0"], tokens=tokens)
        async with grpc.aio.insecure_channel(server.addresses[0]) as channel:
            stub = session_pb2_grpc.SessionServiceStub(channel)

            def by(token: str) -> tuple[tuple[str, str], ...]:
                return (("authorization", f"Bearer {token}"),)

            request = pb.CreateSessionRequest(session=pb.Session(session_id="s1"))
            await stub.CreateSession(request, metadata=by("token-a"))
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await stub.GetSession(
                    pb.GetSessionRequest(session=pb.SessionRef(session_id="s1")),
                    metadata=by("token-b"),
                )
            error = error_from(failed.value)
            assert (error.code.name, error.reason) == ("PERMISSION_DENIED", "NOT_ALLOWED")
            own = await stub.CreateSession(request, metadata=by("token-b"))
            assert own.created
        await server.stop()


@pytest.mark.row("S4-07")
async def test_many_writers_into_one_session(tmp_path: Path) -> None:
    writers, count = 32, 100
    async with room(database=tmp_path / "history.db") as chat:
        made = await chat.open(channel="group")

        async def write(number: int) -> None:
            for line in range(count):
                message = Message(
                    f"{number}-{line}", f"w{number}", f"line {line}", session_id=made.session_id
                )
                await chat.client.append("group", message)

        await asyncio.gather(*map(write, range(writers)))
        stored = await chat.history("group")
        after = await chat.session()
    assert len(stored) == writers * count
    for number in range(writers):
        own = [one.id for one in stored if one.author.id == f"w{number}"]
        assert own == [f"{number}-{line}" for line in range(count)]
    assert after.updated_at_ms > made.updated_at_ms


@pytest.mark.row("S4-07")
async def test_a_message_moves_updated_at() -> None:
    async with room() as chat:
        made = await chat.open(channel="group")
        await asyncio.sleep(0.005)
        await chat.client.append("group", Message("m1", "u1", "hi", session_id=made.session_id))
        between = await chat.session()
        await chat.client.append("group", Message("m2", "u1", "hi"))
        after = await chat.session()
    assert made.updated_at_ms < between.updated_at_ms == after.updated_at_ms


async def test_lists_come_in_pages_the_newest_first(tmp_path: Path) -> None:
    count = 300
    async with room(database=tmp_path / "history.db") as chat:
        for number in range(count):
            await chat.open(
                session_id=f"s{number}", participants=[], space="odd" if number % 2 else "",
                owner_id="ann" if number % 3 == 0 else "bob",
            )  # fmt: skip
        chat.session_id = "s5"
        await chat.say("@nobody", participants=[])
        seen: list[str] = []
        token = ""
        while True:
            page = await chat.stub.ListSessions(pb.ListSessionsRequest(limit=70, page_token=token))
            seen += [one.session_id for one in page.sessions]
            token = page.next_page_token
            if not token:
                break
        others = [f"s{number}" for number in range(count - 1, -1, -1) if number != 5]
        assert seen[0] == "s5"
        assert sorted(seen) == sorted(["s5", *others])
        odd = await chat.stub.ListSessions(pb.ListSessionsRequest(space="odd", limit=1000))
        assert len(odd.sessions) == count // 2
        none = await chat.stub.ListSessions(pb.ListSessionsRequest(space="", limit=1000))
        assert len(none.sessions) == count // 2
        anns = await chat.stub.ListSessions(pb.ListSessionsRequest(owner_id="ann", limit=1000))
        assert len(anns.sessions) == count // 3
        bad = chat.stub.ListSessions(pb.ListSessionsRequest(page_token="x"))
        assert await chat.refused(bad) == ("INVALID_ARGUMENT", "INVALID_FIELD", "page_token")


@pytest.mark.row("S4-35")
async def test_another_mode_begins_anew_and_the_history_stays() -> None:
    async with room() as chat:
        made = await chat.open(participants=[*CATS, human("u1", "Ann")])
        await chat.say("@小黑 早")
        roles = {"coder": "black", "reviewer": "white", "tester": "grey"}
        changed = await chat.stub.UpdateSession(
            pb.UpdateSessionRequest(
                session=chat.ref, mode="workflow", role_config_json=json.dumps({"role_map": roles})
            )
        )
        assert changed.session.mode == "workflow"
        assert changed.session.state_version == made.state_version + 1
        await chat.say("写个函数")
        before = await chat.state()
        assert (before["status"], before["task"]) == ("done", 1)
        back = await chat.stub.UpdateSession(
            pb.UpdateSessionRequest(session=chat.ref, mode="free_chat")
        )
        assert back.session.mode_state_json == "{}"
        assert [text_of(one) for one in await chat.history()][:2] == ["@小黑 早", "小黑说喵"]
        states = (await chat.stub.ListStates(pb.ListStatesRequest(session=chat.ref))).states
        assert [(one.mode, one.event) for one in states] == [
            ("free_chat", "mode_begun"), ("workflow", "done"), ("workflow", "approved"),
            ("workflow", "approved"), ("workflow", "task"), ("workflow", "mode_begun"),
            ("free_chat", "begun"),
        ]  # fmt: skip
        kept = json.loads(states[1].mode_state_json)
        assert kept["status"] == "done"
        assert [one.previous_id for one in states] == [*(one.id for one in states[1:]), ""]


@pytest.mark.row("S4-36")
@pytest.mark.parametrize(
    ("mode", "config", "field"),
    [
        ("workflow", {}, "role_config"),
        ("workflow", {"role_map": {"coder": "black"}}, "role_config.role_map.reviewer"),
        ("workflow", {"role_map": {"coder": "nobody", "reviewer": "white", "tester": "grey"}},
         "role_config.role_map.coder"),
        ("workflow", {"role_map": {"coder": 7}}, "role_config.role_map[...]"),
        ("workflow", {"role_map": {}, "extra": 1}, "role_config"),
        ("workflow", {"role_map": {"coder": "u1", "reviewer": "white", "tester": "grey"}},
         "role_config.role_map.coder"),
        ("werewolf", {"roles": {"vampire": 1}}, "role_config.roles"),
        ("werewolf", {"assign": {"nobody": "seer"}}, "role_config.assign"),
        ("werewolf", {"talk_rounds": "two"}, "role_config.talk_rounds"),
        ("quiz", {"questions": [{"text": "?", "answers": []}]}, "role_config.questions"),
        ("quiz", {"questions": "none"}, "role_config.questions"),
        ("free_chat", {"anything": 1}, "role_config"),
        ("free_chat", [], "role_config"),
    ],
)  # fmt: skip
async def test_a_wrong_configuration_is_refused_by_its_field(
    mode: str, config: object, field: str
) -> None:
    async with room() as chat:
        session = pb.Session(
            mode=mode, role_config_json=json.dumps(config), participants=[*CATS, human("u1", "Ann")]
        )
        call = chat.stub.CreateSession(pb.CreateSessionRequest(session=session))
        code, reason, told = await chat.refused(call)
        assert (code, reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
        assert told.startswith(field)
        assert not (await chat.stub.ListSessions(pb.ListSessionsRequest())).sessions


@pytest.mark.row("S4-22")
async def test_modes_that_are_known() -> None:
    async with room() as chat:
        modes = (await chat.stub.ListModes(pb.ListModesRequest())).modes
        assert [one.name for one in modes] == ["free_chat", "quiz", "werewolf", "workflow"]
        for one in modes:
            assert json.loads(one.role_config_schema_json)["$ref"]
            assert json.loads(one.mode_state_schema_json)["$ref"]
        lost = chat.stub.CreateSession(pb.CreateSessionRequest(session=pb.Session(mode="chess")))
        assert await chat.refused(lost) == ("INVALID_ARGUMENT", "UNKNOWN_MODE", "mode")


async def test_a_session_that_is_closed_takes_no_rounds() -> None:
    async with room() as chat:
        await chat.open()
        for status in (pb.SESSION_STATUS_SEALED, pb.SESSION_STATUS_ARCHIVED):
            await chat.stub.UpdateSession(pb.UpdateSessionRequest(session=chat.ref, status=status))
            heard = await chat.say("在吗")
            assert heard.refusal.reason == "SESSION_CLOSED"
            assert heard.refusal.code.name == "FAILED_PRECONDITION"
        listed = await chat.stub.ListSessions(pb.ListSessionsRequest())
        assert not listed.sessions
        archived = await chat.stub.ListSessions(pb.ListSessionsRequest(include_archived=True))
        assert len(archived.sessions) == 1
        await chat.stub.UpdateSession(
            pb.UpdateSessionRequest(session=chat.ref, status=pb.SESSION_STATUS_ACTIVE)
        )
        assert (await chat.say("@小黑 在吗")).reason == "COMPLETE"


async def test_spaces_hold_what_sessions_begin_with() -> None:
    async with room() as chat:
        space = pb.Space(
            slug="cafe", project_id="p1", participants=CATS[:2], mode="free_chat",
            policy=pb.RoomPolicy(window_messages=5, question_label="主人："),
        )  # fmt: skip
        assert (await chat.stub.PutSpace(pb.PutSpaceRequest(space=space))).space.slug == "cafe"
        made = await chat.open(space="cafe", participants=[])
        assert [one.id for one in made.participants] == ["black", "white"]
        assert made.project_id == "p1"
        await chat.say("@小黑 早")
        assert "主人：" in chat.model.prompt()
        space.policy.question_label = "Boss: "
        await chat.stub.PutSpace(pb.PutSpaceRequest(space=space))
        await chat.say("@小黑 早")
        assert "Boss: " in chat.model.prompt()
        listed = await chat.stub.ListSpaces(pb.ListSpacesRequest())
        assert [one.slug for one in listed.spaces] == ["cafe"]
        await chat.stub.DeleteSpace(pb.DeleteSpaceRequest(slug="cafe"))
        lost = chat.stub.GetSpace(pb.GetSpaceRequest(slug="cafe"))
        assert await chat.refused(lost) == ("NOT_FOUND", "SPACE_NOT_FOUND", "slug")
        person = pb.Space(slug="x", participants=[human("u1", "Ann")])
        refused = chat.stub.PutSpace(pb.PutSpaceRequest(space=person))
        assert (await chat.refused(refused))[2] == "space.participants"


@pytest.mark.row("S4-08", "P-03")
async def test_two_participants_never_have_one_name() -> None:
    async with room() as chat:
        await chat.open()
        for name in ("小黑", "ｂｌａｃｋｙ", "BLACKY", "黑黑", "black"):
            call = chat.stub.PutParticipants(
                pb.PutParticipantsRequest(
                    session=chat.ref,
                    participants=[pb.Participant(id="new", name=name, kind=PERSONA)],
                )
            )
            try:
                await call
            except grpc.aio.AioRpcError as failed:
                error = error_from(failed)
            assert (error.reason, error.metadata["participant_id"]) == ("NAME_TAKEN", "black")
            assert error.metadata["other_id"] == "new"
        assert len((await chat.session()).participants) == 3


async def test_deleting_a_session_leaves_or_takes_its_messages() -> None:
    async with room() as chat:
        for erases in (False, True):
            made = await chat.open(session_id=f"s{erases}", aliases=[f"a{erases}"], channel="group")
            await chat.say("@小黑 好")
            gone = await chat.stub.DeleteSession(
                pb.DeleteSessionRequest(session=chat.ref, erase_messages=erases)
            )
            assert (gone.deleted, gone.erased_message_count) == (True, 2 if erases else 0)
            for name in (made.session_id, made.aliases[0]):
                lost = chat.stub.GetSession(
                    pb.GetSessionRequest(session=pb.SessionRef(session_id=name))
                )
                assert (await chat.refused(lost))[1] == "SESSION_NOT_FOUND"
            again = await chat.stub.DeleteSession(pb.DeleteSessionRequest(session=chat.ref))
            assert not again.deleted
        assert len(await chat.history("group")) == 2


async def test_a_fork_has_what_came_before() -> None:
    async with room() as chat:
        made = await chat.open(title="first")
        heard = await chat.say("@小黑 一")
        await chat.say("@小黑 二")
        fork = await chat.stub.ForkSession(
            pb.ForkSessionRequest(session=chat.ref, message_id=heard.end.responses[0].id)
        )
        assert fork.message_count == 2
        assert fork.session.forked_from.session_id == made.session_id
        assert fork.session.channel != made.channel
        chat.session_id = fork.session.session_id
        assert [text_of(one) for one in await chat.history()] == ["@小黑 一", "小黑说喵"]
        await chat.say("@小黑 三")
        assert "二" not in chat.model.prompt()
        assert "一" in chat.model.prompt()


@pytest.mark.row("S4-06")
async def test_a_session_goes_out_and_comes_in_as_json_lines() -> None:
    async with room() as chat:
        await chat.open(session_id="s1", space="cafe", participants=[*CATS, human("u1", "Ann")])
        await chat.say("@小黑 写点什么", message={"audience": ["black"]})
        await chat.say("@小白 好")
        lines: list[str] = []
        async for run in chat.stub.ExportSession(pb.ExportSessionRequest(session=chat.ref)):
            lines += run.lines
        kinds = [next(iter(json.loads(line))) for line in lines]
        assert kinds == ["session"] + ["message"] * 4
        before, stored = await chat.session(), await chat.history()
    async with room() as chat:
        for _ in range(2):  # safe to repeat

            async def requests():
                for start in range(0, len(lines), 2):
                    yield pb.ImportSessionRequest(lines=lines[start : start + 2])

            taken = await chat.stub.ImportSession(requests())
        assert taken.messages.duplicate_count == 4
        chat.session_id = "s1"
        after = await chat.session()
        again = await chat.history()
    for session in (before, after):
        session.ClearField("created_at_ms")
        session.ClearField("updated_at_ms")
    assert after == before
    assert again == stored


async def test_bad_lines_are_refused_by_their_number() -> None:
    async with room() as chat:
        for lines, field in (
            ([], "lines"), (["x"], "lines[0]"), (['{"message": {}}'], "lines[0]"),
            (['{"session": {"sessionId": 7}}'], "lines[0]"),
            (['{"session": {"sessionId": "s"}}', "["], "lines[1]"),
        ):  # fmt: skip

            async def requests(lines=lines):
                yield pb.ImportSessionRequest(lines=lines)

            assert (await chat.refused(chat.stub.ImportSession(requests())))[2] == field
