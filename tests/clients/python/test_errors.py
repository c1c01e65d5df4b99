"""Every way of failing has its class, and what is safe to repeat is repeated."""

import pickle
import socket
import time

import grpc
import pytest

import backscroll
from backscroll import (
    BackscrollError,
    Conflict,
    DeadlineExceeded,
    ExperimentArm,
    Gone,
    InternalError,
    InvalidRequest,
    Message,
    NotFound,
    NotImplementedByServer,
    Overloaded,
    PermissionDenied,
    Refused,
    Unauthenticated,
    Unavailable,
    _channel,
)
from backscroll.v1 import session_pb2

Code = grpc.StatusCode

# What error.proto's comments say.
BY_REASON = {
    "INVALID_FIELD": (Code.INVALID_ARGUMENT, InvalidRequest),
    "MISSING_FIELD": (Code.INVALID_ARGUMENT, InvalidRequest),
    "QUESTION_MISSING": (Code.INVALID_ARGUMENT, InvalidRequest),
    "BUDGET_TOO_SMALL": (Code.INVALID_ARGUMENT, InvalidRequest),
    "MALFORMED_REQUEST": (Code.INVALID_ARGUMENT, InvalidRequest),
    "TOO_LARGE": (Code.INVALID_ARGUMENT, InvalidRequest),
    "BATCH_TOO_LARGE": (Code.INVALID_ARGUMENT, InvalidRequest),
    "UNKNOWN_PROFILE": (Code.INVALID_ARGUMENT, InvalidRequest),
    "CHANNEL_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "MESSAGE_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "TURN_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "MESSAGE_GONE": (Code.FAILED_PRECONDITION, Gone),
    "CONFLICT": (Code.ABORTED, Conflict),
    "STORE_UNAVAILABLE": (Code.UNAVAILABLE, Unavailable),
    "STORE_READ_ONLY": (Code.UNAVAILABLE, Unavailable),
    "OVERLOADED": (Code.RESOURCE_EXHAUSTED, Overloaded),
    "NOT_IMPLEMENTED": (Code.UNIMPLEMENTED, NotImplementedByServer),
    "NOT_ALLOWED": (Code.PERMISSION_DENIED, PermissionDenied),
    "UNAUTHENTICATED": (Code.UNAUTHENTICATED, Unauthenticated),
    "DEADLINE": (Code.DEADLINE_EXCEEDED, DeadlineExceeded),
    "INTERNAL": (Code.INTERNAL, InternalError),
    "SESSION_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "SPACE_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "ROUND_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "INTERRUPT_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "CONTEXT_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "CHANNEL_SETTINGS_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "EXPERIMENT_NOT_FOUND": (Code.NOT_FOUND, NotFound),
    "CHANNELS_WOULD_MOVE": (Code.FAILED_PRECONDITION, Refused),
    "EXPERIMENTS_OVERLAP": (Code.FAILED_PRECONDITION, Refused),
    "UNKNOWN_MODE": (Code.INVALID_ARGUMENT, InvalidRequest),
    "NAME_TAKEN": (Code.INVALID_ARGUMENT, InvalidRequest),
    "ACTION_REFUSED": (Code.FAILED_PRECONDITION, Refused),
    "SESSION_CLOSED": (Code.FAILED_PRECONDITION, Refused),
}


def test_every_reason_of_the_contract_is_in_the_table(fakes):
    assert set(BY_REASON) == set(fakes.REASONS)


@pytest.mark.parametrize("reason", BY_REASON)
def test_every_reason_has_its_class(client, fake, fakes, reason):
    code, kind = BY_REASON[reason]
    metadata = {"field": "token_budget", "least_tokens": "123"}
    fake.fail("Erase", fakes.status_of(code, "what went wrong: 那猫", reason, metadata=metadata))
    with pytest.raises(BackscrollError) as caught:
        client.erase("room", whole_channel=True)
    error = caught.value
    assert type(error) is kind
    assert (error.reason, error.field, error.code) == (reason, "token_budget", code)
    assert error.metadata == metadata
    assert error.message == "what went wrong: 那猫"
    assert str(error) == f"what went wrong: 那猫 [{reason}]"
    assert isinstance(error.__cause__, grpc.RpcError)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *{code: kind for code, kind in BY_REASON.values() if kind not in {Gone, Refused}}.items(),
        (Code.FAILED_PRECONDITION, Conflict),
        (Code.ALREADY_EXISTS, Conflict),
        (Code.OUT_OF_RANGE, InvalidRequest),
        (Code.UNKNOWN, InternalError),
        (Code.DATA_LOSS, InternalError),
        (Code.CANCELLED, BackscrollError),
    ],
    ids=str,
)
def test_without_details_the_status_decides(client, fake, fakes, code, kind):
    fake.fail("Erase", fakes.status_of(code, "plain"))
    with pytest.raises(BackscrollError) as caught:
        client.erase("room", whole_channel=True)
    error = caught.value
    assert type(error) is kind
    assert (error.reason, error.field, error.metadata) == ("", "", {})
    assert str(error) == f"plain [{code.name}]"


class Rewritten(grpc.Status):
    code = Code.NOT_FOUND
    details = "rewritten by a proxy"
    trailing_metadata = (("grpc-status-details-bin", b"\xff\xff not a status"), ("other", "x"))


def test_details_that_cannot_be_read_count_as_none(client, fake):
    fake.fail("Erase", Rewritten())
    with pytest.raises(NotFound, match="proxy") as caught:
        client.erase("room", whole_channel=True)
    assert caught.value.reason == ""


def test_another_domains_details_are_not_ours(client, fake, fakes):
    foreign = fakes.status_of(Code.UNAVAILABLE, "no", "MESSAGE_GONE", domain="googleapis.com")
    fake.fail("Erase", foreign)
    with pytest.raises(Unavailable) as caught:
        client.erase("room", whole_channel=True)
    assert caught.value.reason == ""


def test_streams_and_imports_fail_with_the_same_classes(client, fake, fakes):
    for rpc in ("ExportMessages", "ListMessages", "ImportMessages"):
        fake.fail(rpc, fakes.status_of(Code.UNAUTHENTICATED, "who?", "UNAUTHENTICATED"))
    with pytest.raises(Unauthenticated):
        client.export_messages("room")
    with pytest.raises(Unauthenticated):
        client.list_messages("room")
    with pytest.raises(Unauthenticated):
        client.import_messages([Message("m", "a", "t")], channel="room")


@pytest.mark.slow
def test_no_server_is_unavailable_soon(connect):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        client = connect(f"127.0.0.1:{free.getsockname()[1]}")
        started = time.monotonic()
        words = f"^no server answers at {client.client._target}; start one with: backscroll serve "
        with pytest.raises(Unavailable, match=words):
            client.get_channel("room")
        with pytest.raises(Unavailable, match=words):
            client.health()
        with pytest.raises(Unavailable, match=words):
            client.export_messages("room")
        with pytest.raises(Unavailable, match=words):
            client.import_messages([Message("m", "a", "t")], channel="room")
        assert time.monotonic() - started < 60


@pytest.mark.parametrize(
    "target",
    [
        "",
        "127.0.0.1",
        "localhost:",
        "http://127.0.0.1:7171",
        "::1",
        "::1:7171",
        "host:99999",
        "host:0",
    ],
)
def test_what_is_no_address_is_refused_at_once(connect, target):
    with pytest.raises(ValueError, match="is no address: give host:port"):
        connect(target)


@pytest.mark.parametrize(
    "target", ["chat.example:7171", "[::1]:7171", "unix:/run/b.sock", "dns:///chat.example:7171"]
)
def test_every_kind_of_address_is_taken(connect, target):
    connect(target)


def test_a_deadline_is_kept(connect, fake):
    fake.slow("GetChannel", 5.0)
    client = connect(fake.address, timeout_s=0.2)
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        client.get_channel("room")
    assert time.monotonic() - started < 5.0


def test_a_method_the_server_never_heard_of_is_not_implemented(connect, fakes):
    with (
        fakes.FakeServer(with_health=False) as fake,
        pytest.raises(NotImplementedByServer, match="Method not found"),
    ):
        connect(fake.address).health()


@pytest.mark.parametrize("name", ["InvalidRequest", "Gone", "Unavailable"])
def test_errors_can_be_pickled(name):
    error = getattr(backscroll, name)(
        "m", reason="R", field="f", code=Code.ABORTED, metadata={"a": "b"}
    )
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error)
    assert str(again) == str(error)


# --- retries --------------------------------------------------------------------------------------

CALLS = {
    "AliasMessage": lambda client: client.alias_message("room", "m", "p1"),
    "AppendMessages": lambda client: client.append("room", Message("m9", "ann", "x")),
    "BuildContext": lambda client: client.build_context("room", "q"),
    "Compact": lambda client: client.compact("room"),
    "ListPeriodSummaries": lambda client: list(client.list_period_summaries("room")),
    "DeletePeriodSummary": lambda client: client.delete_period_summary("room", "24:0"),
    "EditMessage": lambda client: client.edit_message("room", "m", "y"),
    "ExportMessages": lambda client: client.export_messages("room"),
    "GetChannel": lambda client: client.get_channel("room"),
    "GetThread": lambda client: client.get_thread("room", "m"),
    "GetChannelSettings": lambda client: client.get_channel_settings("room"),
    "TuneChannel": lambda client: client.tune_channel("room"),
    "ListWeightVersions": lambda client: list(client.list_weight_versions("room")),
    "RollBackWeights": lambda client: client.roll_back_weights("room"),
    "SetChannelSettings": lambda client: client.set_channel_settings("room"),
    "ListChannelSettings": lambda client: list(client.list_channel_settings()),
    "DeleteChannelSettings": lambda client: client.delete_channel_settings("room"),
    "PutExperiment": lambda client: client.put_experiment("e", [ExperimentArm("new")]),
    "GetExperiment": lambda client: client.get_experiment("e"),
    "ListExperiments": lambda client: list(client.list_experiments()),
    "StopExperiment": lambda client: client.stop_experiment("e"),
    "DeleteExperiment": lambda client: client.delete_experiment("e"),
    "GetExperimentReport": lambda client: client.get_experiment_report("e"),
    "GetUsageRecord": lambda client: client.get_usage_record("c1"),
    "ListEvents": lambda client: list(client.list_events("room")),
    "ListUsageRecords": lambda client: list(client.list_usage_records("room")),
    "RecordFeedback": lambda client: client.record_feedback("c1", rating=5),
    "SetTopicLabels": lambda client: client.set_topic_labels("room", "x", "m"),
    "ListTopicLabels": lambda client: list(client.list_topic_labels("room")),
    "DeleteTopicLabels": lambda client: client.delete_topic_labels("room", "x"),
    "SetUsageConsent": lambda client: client.set_usage_consent("u", collect_usage=False),
    "GetUsageConsent": lambda client: client.get_usage_consent("u"),
    "ReplayBuilds": lambda client: client.replay_builds("room"),
    "ExportUsageRecords": lambda client: client.export_usage_records("room"),
    "GetMetrics": lambda client: client.get_metrics(),
    "ListChannels": lambda client: list(client.list_channels()),
    "ListMembers": lambda client: client.list_members("room"),
    "DeletePreference": lambda client: client.delete_preference("u", "p"),
    "ListPreferences": lambda client: client.list_preferences("u"),
    "ListPreferenceTopics": lambda client: client.list_preference_topics(),
    "SetPreference": lambda client: client.set_preference("u", "x"),
    "ListMessages": lambda client: client.list_messages("room"),
    "ListPinnedMessages": lambda client: client.list_pinned_messages("room"),
    "PinMessage": lambda client: client.pin_message("room", "m"),
    "UnpinMessage": lambda client: client.unpin_message("room", "m"),
    "RecallMessage": lambda client: client.recall_message("room", "m"),
    "SearchMessages": lambda client: client.search("room", "x"),
    "UpsertMembers": lambda client: client.upsert_members("room", [backscroll.Member("u")]),
    "WaitForIndex": lambda client: client.wait_for_index("room"),
    "Erase": lambda client: client.erase("room", whole_channel=True),
    "ImportMessages": lambda client: client.import_messages(
        [Message("n", "a", "t", channel="room")]
    ),
    "PutSpace": lambda client: client.put_space("cafe"),
    "GetSpace": lambda client: client.get_space("cafe"),
    "ListSpaces": lambda client: client.list_spaces(),
    "DeleteSpace": lambda client: client.delete_space("cafe"),
    "CreateSession": lambda client: client.room().session(),
    "GetSession": lambda client: client.room("s").session(),
    "ListSessions": lambda client: client.list_sessions(),
    "ForkSession": lambda client: client.room("s").fork(),
    "PutParticipants": lambda client: client.room("s").add("u"),
    "RemoveParticipants": lambda client: client.room("s").remove("u"),
    "RouteMessage": lambda client: client.room("s").route("x", "u"),
    "PrepareRound": lambda client: client.room("s").prepare("x", "u"),
    "StartRound": lambda client: client.room("s").ask("x", "u"),
    "ResumeRound": lambda client: client.room("s").resume("r"),
    "Act": lambda client: client.room("s").act("start"),
    "ListStates": lambda client: client.room("s").states(),
    "ListModes": lambda client: client.modes(),
    "ExportSession": lambda client: client.room("s").export(),
    "ImportSession": lambda client: client.import_session(['{"session": {"sessionId": "t"}}']),
    "UpdateSession": lambda client: client.room("s").update(title="x"),
    "DeleteSession": lambda client: client.room("s").delete(),
}
ONCE = {
    "DeleteChannelSettings",
    "DeletePeriodSummary",
    "DeletePreference",
    "Erase",
    "ImportMessages",
    "DeleteTopicLabels",
}
ONCE |= {"RollBackWeights", "TuneChannel"}
ONCE |= {"DeleteExperiment"}
ONCE |= {"ImportSession", "UpdateSession", "DeleteSession"}


def begin(fake):
    """A message, a space, a session and a round to ask for."""
    fake.append("room", Message("m", "ann", "x").to_proto())
    session = session_pb2.Session(session_id="s", mode="free_chat")
    fake.sessions.spaces["cafe"] = session_pb2.Space(slug="cafe")
    fake.sessions.sessions["s"], fake.sessions.told["s"] = session, []
    fake.sessions.rounds["r"] = (session_pb2.StartRoundRequest(), {})


def test_the_table_of_retries_is_complete():
    assert set(CALLS) - ONCE == {rpc for rpcs in _channel.RETRIED.values() for rpc in rpcs}


@pytest.fixture
def short_waits(monkeypatch):
    """Between attempts a tenth of the time: what is told is how often the server is asked."""
    own = dict(_channel.OPTIONS)
    config = own["grpc.service_config"]
    own["grpc.service_config"] = config.replace('"0.1s"', '"0.01s"')
    assert own["grpc.service_config"] != config
    monkeypatch.setattr(_channel, "OPTIONS", tuple(own.items()))


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize("rpc", sorted(set(CALLS) - ONCE))
def test_a_server_that_is_away_twice_is_asked_a_third_time(client, fake, fakes, rpc):
    begin(fake)
    fake.fail(rpc, fakes.status_of(Code.UNAVAILABLE, "restarting", "STORE_UNAVAILABLE"), times=2)
    CALLS[rpc](client)
    assert [seen.attempt for seen in fake.seen if seen.rpc == rpc] == [1, 2, 3]


@pytest.mark.parametrize("rpc", sorted(ONCE))
def test_what_is_not_safe_to_repeat_is_not_repeated(client, fake, fakes, rpc):
    fake.fail(rpc, fakes.status_of(Code.UNAVAILABLE, "restarting", "STORE_UNAVAILABLE"))
    with pytest.raises(Unavailable):
        CALLS[rpc](client)
    assert len(fake.seen) == 1


@pytest.mark.parametrize(
    "code", [Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED, Code.INTERNAL, Code.DEADLINE_EXCEEDED]
)
def test_no_other_status_is_retried(client, fake, fakes, code):
    fake.fail("BuildContext", fakes.status_of(code))
    with pytest.raises(BackscrollError):
        client.build_context("room", "q")
    assert len(fake.seen) == 1


@pytest.mark.slow
def test_retries_end(client, fake, fakes):
    fake.fail("GetChannel", fakes.status_of(Code.UNAVAILABLE, "away", "STORE_UNAVAILABLE"), times=9)
    with pytest.raises(Unavailable) as caught:
        client.get_channel("room")
    assert caught.value.reason == "STORE_UNAVAILABLE"
    assert len(fake.seen) == 4


def test_a_server_may_refuse_to_be_asked_again(client, fake):
    """A full disk does not pass in a second: `grpc-retry-pushback-ms: -1` with the status says so."""

    class ReadOnly(grpc.Status):
        code = Code.UNAVAILABLE
        details = "disk full"
        trailing_metadata = (("grpc-retry-pushback-ms", "-1"),)

    fake.fail("AppendMessages", ReadOnly())
    with pytest.raises(Unavailable):
        client.append("room", Message("m", "a", "t"))
    assert len(fake.seen) == 1


def test_a_whole_batch_can_be_repeated(client, fake, fakes):
    messages = [Message(f"m{n}", "ann", "x" * 60_000) for n in range(55)]  # 3.3 MB
    fake.fail("AppendMessages", fakes.status_of(Code.UNAVAILABLE, "restarting"), times=2)
    assert client.append("room", messages).stored == 55
    assert [seen.attempt for seen in fake.seen] == [1, 2, 3]


@pytest.mark.slow
def test_a_restart_goes_unnoticed(connect, fakes):
    with fakes.FakeServer() as first:
        client = connect(first.address)
        client.append("room", Message("m1", "ann", "x"))
    import threading

    second = fakes.FakeServer(first.address)
    threading.Timer(0.3, second.__enter__).start()
    try:
        assert client.append("room", Message("m2", "ann", "x")).stored == 1
    finally:
        second.__exit__()


def test_too_large_a_request_is_no_overload(client, fake):
    with pytest.raises(InvalidRequest, match="larger than max"):
        client.build_context("room", "x" * (9 * 2**20))
    assert not fake.seen
