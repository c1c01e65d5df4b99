"""States that somebody gives: those of a play are taken, with people gone too; what no mode can go on from is not."""

import msgspec
import pytest

from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.sessions.modes.base import Action, Seat, Table
from backscroll_sidecar.sessions.modes.free_chat import FreeChat
from backscroll_sidecar.sessions.modes.quiz import Quiz
from backscroll_sidecar.sessions.modes.registry import checked, config_of, encoded, state_of
from backscroll_sidecar.sessions.modes.werewolf import Werewolf
from backscroll_sidecar.sessions.modes.workflow import Workflow

SEATS = tuple(Seat(one, one.upper(), is_persona=True, is_human=False) for one in "abcde")
TABLE = Table(SEATS, ids_by_name={one: one for one in "abcde"})
NOBODY = Table(())
CONFIGS = {
    "werewolf": {"assign": {"a": "werewolf", "b": "seer", "c": "doctor"}},
    "quiz": {"questions": [{"text": "1?", "answers": ["1"]}, {"text": "2?", "answers": ["2"]}]},
    "workflow": {"role_map": {"coder": "a", "reviewer": "b", "tester": "c"}},
}
MODES = {one.name: one for one in (Werewolf(), Quiz(), Workflow())}
MOVES = {
    "werewolf": ["start", ("kill", "a", "d"), ("check", "b", "a"), ("save", "c", "c"), "skip",
                 ("vote", "a", "nobody"), "skip", ("pass", "a", ""), ("pass", "b", ""), "skip"],
    "quiz": ["start", ("answer", "a", "9"), ("answer", "b", "1"), "end"],
    "workflow": ["task", "approve", "reject", "approve", "approve", "approve", "task", "stop"],
}  # fmt: skip
NIGHT = {
    "phase": "night", "day": 1, "players": ["a", "b", "c"], "alive": ["a", "b", "c"],
    "roles": {"a": "werewolf", "b": "seer", "c": "villager"},
}  # fmt: skip


def take(mode, state, config=None, table=TABLE):
    mode = MODES[mode]
    config = config_of(mode, encoded(CONFIGS[mode.name] if config is None else config))
    return checked(mode, config, state_of(mode, encoded(state)), table)


@pytest.mark.parametrize("name", MODES)
def test_what_was_played_is_taken_whoever_has_gone(name):
    mode = MODES[name]
    config = config_of(mode, encoded(CONFIGS[name]))
    state = mode.begin(config, TABLE, 1)
    for move in ("", *MOVES[name]):
        if move:
            action = Action(move) if isinstance(move, str) else Action(*move)
            state = mode.apply(config, state, TABLE, action).state
        for table in (TABLE, NOBODY):
            assert take(name, state, table=table) == state
            assert mode.memory(config, state, TABLE) is not None


@pytest.mark.parametrize(
    ("mode", "state"),
    [
        ("werewolf", {"phase": "talk"}),
        ("werewolf", {"phase": "night", "alive": ["nobody"]}),
        ("werewolf", {"phase": "lobby", "players": ["a"]}),
        ("werewolf", {**NIGHT, "phase": "talk"}),
        ("werewolf", {**NIGHT, "players": ["a", "b", "c", "c"]}),
        ("werewolf", {**NIGHT, "alive": ["a", "a"]}),
        ("werewolf", {**NIGHT, "alive": ["a", "d"]}),
        ("werewolf", {**NIGHT, "roles": {"a": "werewolf"}}),
        ("werewolf", {**NIGHT, "roles": {**NIGHT["roles"], "c": "witch"}}),
        ("werewolf", {**NIGHT, "day": 0}),
        ("werewolf", {**NIGHT, "day": 10**30}),
        ("werewolf", {**NIGHT, "winner": "villagers"}),
        ("werewolf", {**NIGHT, "phase": "over"}),
        ("werewolf", {**NIGHT, "move_order": ["a"]}),
        ("werewolf", {**NIGHT, "moves": {"a": "x"}}),
        ("werewolf", {**NIGHT, "phase": "vote", "votes": {"a": "x"}}),
        ("werewolf", {**NIGHT, "passed": ["x"]}),
        ("werewolf", {**NIGHT, "phase": "talk", "speakers": ["x"]}),
        ("werewolf", {**NIGHT, "last_speaker": "x"}),
        ("werewolf", {**NIGHT, "last_saves": {"a": "x"}}),
        ("werewolf", {**NIGHT, "deaths": [{"id": "a", "day": 1, "cause": "killed"}]}),
        ("werewolf", {**NIGHT, "findings": [
            {"seer_id": "b", "id": "x", "day": 1, "is_werewolf": False}]}),
        ("quiz", {"phase": "asking", "index": 2}),
        ("quiz", {"phase": "asking", "index": -5}),
        ("quiz", {"phase": "over", "index": 999}),
        ("quiz", {"phase": "lobby", "index": 1}),
        ("quiz", {"phase": "asking", "scores": {"a": -1}}),
        ("quiz", {"phase": "asking", "attempts": {"a": -1}}),
        ("quiz", {"phase": "asking", "answered_by": ["a", "a", "a"]}),
        ("workflow", {"current_node": "nope", "status": "working"}),
        ("workflow", {"current_node": "coder", "rejections": -1}),
        ("workflow", {"current_node": "coder", "task": -1}),
    ],
)  # fmt: skip
def test_a_state_that_leads_nowhere_is_refused(mode, state):
    with pytest.raises(InvalidRequest) as caught:
        take(mode, state)
    assert caught.value.field == "mode_state_json"


@pytest.mark.parametrize(
    ("mode", "state", "config", "field"),
    [
        ("werewolf", NIGHT, {"talk_rounds": 10**9}, "role_config.talk_rounds"),
        ("quiz", {}, {"questions": []}, "role_config.questions"),
        ("workflow", {"current_node": "x"}, {"role_map": {}, "nodes": []}, "role_config.nodes"),
        (
            "workflow",
            {"current_node": "coder"},
            {"role_map": {}, "back_to": {"tester": "x"}},
            "role_config.back_to.tester",
        ),
    ],
)
def test_so_is_a_configuration_that_fits_no_table(mode, state, config, field):
    with pytest.raises(InvalidRequest) as caught:
        take(mode, state, config)
    assert caught.value.field == field


def test_free_chat_takes_its_only_state():
    mode = FreeChat()
    assert msgspec.json.encode(checked(mode, config_of(mode, ""), state_of(mode, ""), TABLE)) == (
        b"{}"
    )
