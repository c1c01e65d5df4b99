"""Werewolf: whole games, each rule, what is refused, and that nobody learns what is not for its eyes."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.sessions.modes.base import Action, ActionRefused, Mode, Seat, Table
from backscroll_sidecar.sessions.modes.werewolf import Werewolf
from backscroll_sidecar.sessions.modes.werewolf_state import WerewolfConfig, WerewolfState
from backscroll_sidecar.sessions.participants import name_key
from backscroll_sidecar.texts import Language
from tests.kit.examples import examples

MODE = Werewolf()
NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Fay", "Gil", "Hugo")
ZH_NAMES = ("赵", "钱", "孙", "李", "周", "吴", "郑", "王")
WOLF, SEER, DOCTOR = "werewolf", "seer", "doctor"
ROLE_WORDS = ("werewol", "seer", "doctor", "villager", "狼人", "预言家", "医生", "村民")


def table_of(count=5, language=Language.EN, personas=(), others=()):
    """Seats "1", "2", … called Ann, Ben, …"""
    names = ZH_NAMES if language is Language.ZH else NAMES
    seats = tuple(
        Seat(str(n), name, is_persona=str(n) in personas, is_human=str(n) not in personas)
        for n, name in enumerate(names[:count], 1)
    ) + tuple(others)
    known = {name_key(word): one.id for one in seats for word in (one.name, one.id)}
    return Table(seats, language, known)


class Game:
    """A game that is played move by move, with everything that was announced."""

    def __init__(self, table=None, seed=0, **config):
        self.table = table or table_of()
        self.config = msgspec.convert(config, WerewolfConfig)
        self.state = MODE.begin(self.config, self.table, seed)
        self.told = []
        self.last = None

    def act(self, name, actor="", argument=""):
        before = msgspec.json.encode((self.config, self.state))
        try:
            self.last = MODE.apply(
                self.config, self.state, self.table, Action(name, actor, argument)
            )
        finally:
            assert msgspec.json.encode((self.config, self.state)) == before
        self.state = self.last.state
        self.told += self.last.announcements
        return self

    def say(self, sender, text):
        action = MODE.read_action(self.config, self.state, self.table, sender, text)
        assert action is not None, text
        return self.act(action.name, action.actor_id, action.argument)

    def talk(self):
        while self.state.phase == "talk":
            self.say(self.state.speakers[0], "hm")
        return self

    def vote(self, **votes):
        """Everybody living votes as said, or for nobody."""
        self.talk()
        for one in self.state.alive:
            self.act("vote", one, votes.get(f"v{one}", votes.get("all", "nobody")))
        return self

    def visible(self, viewer, announcements=None):
        told = self.last.announcements if announcements is None else announcements
        return "\n".join(one.text for one in told if not one.audience or viewer in one.audience)

    def memory(self, viewer=None):
        lines = MODE.memory(self.config, self.state, self.table)
        return "\n".join(
            one.text for one in lines if not one.audience or viewer in (*one.audience, None)
        )

    def audience(self, sender):
        return tuple(MODE.audience_of(self.config, self.state, self.table, sender))

    def waits(self):
        return MODE.waits_for(self.config, self.state, self.table)

    def refuses(self, field, name, actor="", argument=""):
        state = self.state
        with pytest.raises(ActionRefused) as caught:
            self.act(name, actor, argument)
        assert caught.value.field == field
        assert self.state is state
        return caught.value.message


def game(wolves="1", seer="", doctor="", count=5, **more):
    """A game in its first night, with the roles as said."""
    roles = dict.fromkeys(wolves, WOLF) | dict.fromkeys(seer, SEER)
    roles |= dict.fromkeys(doctor, DOCTOR)
    assign = {str(n): roles.get(str(n), "villager") for n in range(1, count + 1)}
    table = more.pop("table", None) or table_of(count)
    return Game(table, assign=assign, **more).act("start")


def refused_begin(table=None, **config):
    with pytest.raises(ActionRefused) as caught:
        Game(table, **config)
    assert caught.value.message
    return caught.value.field


def test_it_is_a_mode():
    assert isinstance(MODE, Mode)
    for language in (Language.EN, Language.ZH):
        for word in ("name", "persona", "colleagues", "memory"):
            assert MODE.prompts[language].count("{{" + word + "}}") == 1
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"wolves": 2}, WerewolfConfig)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"phase": "noon"}', type=WerewolfState)


@pytest.mark.parametrize("language", [Language.EN, Language.ZH])
def test_the_villagers_win(language):
    zh = language is Language.ZH
    names = ZH_NAMES if zh else NAMES
    vote, kill, check, save = (
        ("／投票 ", "/杀 @", "/查验 ", "/救 ") if zh else ("/vote ", "/KILL @", "/check ", "/save ")
    )
    play = game("1", "2", "3", table=table_of(5, language))
    assert play.waits().ids == ("1", "2", "3")
    assert play.waits().in_parallel
    play.say("1", f"hm\n{kill}{names[4]}").say("3", save + names[4])
    play.say("2", check + names[0])
    assert play.state.phase == "talk"
    assert play.state.alive == ("1", "2", "3", "4", "5")
    finding = f"{names[0]} 是狼人。" if zh else f"{names[0]} is a werewolf."
    assert finding in play.visible("2")
    assert finding not in play.visible("3")
    assert play.state.findings[0].is_werewolf
    for one in play.state.alive:
        assert play.waits().ids == (one,)
        assert not play.waits().in_parallel
        play.say(one, "…")
    assert play.waits().ids == play.state.alive
    assert play.waits().in_parallel
    for one in play.state.alive:
        play.say(one, vote + names[0])
    assert play.state.winner == "villagers"
    assert MODE.is_over(play.state)
    assert play.last.event == "ended"
    assert play.waits().ids == ()
    end = play.last.announcements[-1]
    assert end.audience == ()
    assert all(name in end.text for name in names[:5])
    assert ("狼人" in end.text) is zh
    assert ("werewolf" in end.text) is not zh
    assert play.audience("1") == play.audience("2") == ()
    for name in ("start", "kill", "vote", "pass", "skip", "speak"):
        assert play.refuses("name", name, "" if name == "skip" else "2", "3")


def test_the_werewolves_win_by_night_and_by_day():
    play = game("12", count=6).act("kill", "1", "3").act("kill", "2", "3")
    assert play.state.deaths[0].cause == "killed"
    assert "Cleo was a villager." in play.visible("5")
    play.vote().act("kill", "1", "4").act("kill", "2", "4")
    assert play.state.winner == "werewolves"
    assert play.state.day == 2
    assert [one.day for one in play.state.deaths] == [1, 2]
    play = game("1", count=3).act("pass", "1").vote(all="2")
    assert play.state.winner == "werewolves"
    assert play.state.deaths[0].cause == "voted_out"


def test_roles_are_dealt():
    for count, wolves, seers in ((3, 1, 0), (4, 1, 1), (7, 1, 1), (8, 2, 1)):
        dealt = list(Game(table_of(count), seed=5).act("start", "1").state.roles.values())
        assert (dealt.count(WOLF), dealt.count(SEER), dealt.count(DOCTOR)) == (wolves, seers, 0)
    deals = [Game(table_of(8), seed=n).act("start").state.roles for n in (1, 1, *range(2, 9))]
    assert deals[0] == deals[1]
    assert len({str(one) for one in deals}) > 3
    assert Game(table_of(8), seed=9).state.seed == 9
    play = Game(table_of(8), 3, roles={WOLF: 3, DOCTOR: 1}, assign={"2": WOLF, "8": DOCTOR})
    dealt = play.act("start").state.roles
    assert dealt["2"] == WOLF
    assert dealt["8"] == DOCTOR
    assert list(dealt) == list("12345678")
    assert sorted(dealt.values()) == sorted([WOLF] * 3 + [SEER, DOCTOR] + ["villager"] * 3)
    own = msgspec.convert({"seed": 4}, WerewolfConfig)
    assert MODE.begin(own, table_of(), 9).seed == 4
    play = Game(table_of(5), players=("5", "1", "3")).act("start")
    assert play.state.players == ("1", "3", "5")
    bot = Seat("9", "Robo", is_human=False)
    assert Game(table_of(4, others=[bot])).act("start").state.players == ("1", "2", "3", "4")


def test_what_does_not_fit_the_table_is_refused():
    assert refused_begin(roles={"witch": 1}) == "role_config.roles"
    assert refused_begin(roles={"villager": 1}) == "role_config.roles"
    assert refused_begin(roles={WOLF: -1}) == "role_config.roles"
    assert refused_begin(roles={WOLF: 4, DOCTOR: 2}) == "role_config.roles"
    assert refused_begin(roles={SEER: 1}, assign=dict.fromkeys("12345", "villager")) == (
        "role_config.roles"
    )
    assert refused_begin(assign={"1": "witch"}) == "role_config.assign"
    assert refused_begin(assign={"77": WOLF}) == "role_config.assign"
    assert refused_begin(assign={"1": WOLF}, players=("2", "3", "4")) == "role_config.assign"
    assert refused_begin(players=("1", "2", "77")) == "role_config.players"
    assert refused_begin(players=("1", "2", "2")) == "role_config.players"
    assert refused_begin(talk_rounds=-1) == "role_config.talk_rounds"
    assert "3" in Game(table_of(2)).refuses("name", "start")
    assert Game(roles={WOLF: 0}).refuses("name", "start")
    assert Game(roles={WOLF: 3}).refuses("name", "start")
    assert Game(table_of(4), roles={WOLF: 2}).refuses("name", "start")
    stranger = table_of(3, others=[Seat("9", "Robo", is_human=False)])
    assert "Ann" in Game(stranger).refuses("actor_id", "start", "9")
    left = Game(table_of(5), assign={"5": SEER})
    left.table = table_of(4)
    assert left.refuses("name", "start")
    assert game().refuses("name", "start", "1")


def test_the_pack_chooses_by_most_votes_and_the_last_one_breaks_a_tie():
    play = game("123", count=8)
    play.act("kill", "1", "5").act("kill", "2", "5").act("kill", "3", "6")
    assert [one.id for one in play.state.deaths] == ["5"]
    play = game("12", count=7).act("kill", "1", "5").act("kill", "1", "6")
    play.act("kill", "2", "7")
    assert [one.id for one in play.state.deaths] == ["7"]
    play = game("12", "3", count=7).act("kill", "2", "4").act("pass", "1")
    assert play.refuses("name", "kill", "1", "5") == play.refuses("name", "pass", "2")
    assert [one.id for one in play.act("pass", "3").state.deaths] == ["4"]
    play = game("12", count=7).act("pass", "1").act("kill", "1", "4")
    assert (play.state.passed, play.state.moves) == ((), {"1": "4"})
    play.act("pass", "2")
    assert [one.id for one in play.state.deaths] == ["4"]
    play = game("12", count=7).act("kill", "1", "4").act("pass", "1").act("pass", "2")
    assert play.state.deaths == ()
    assert "Nobody died" in play.visible("7")
    play = game("123", count=8).act("kill", "1", "5").act("kill", "2", "6").act("kill", "1", "5")
    assert [one.id for one in play.act("pass", "3").state.deaths] == ["5"]


def test_who_can_be_named_at_night():
    play = game("12", "3", "4", count=7)
    for target in ("1", "2", "", "Nobody", "Zoe"):
        names = play.refuses("argument", "kill", "1", target)
        assert "Ann" not in names
        assert "Ben" not in names
        assert "Hugo" not in names
        assert "Gil" in names
    assert "Cleo" not in play.refuses("argument", "check", "3", "Cleo")
    assert play.refuses("actor_id", "kill", "3", "7")
    assert play.refuses("actor_id", "pass", "7")
    assert play.refuses("actor_id", "check", "4", "1")
    assert play.refuses("actor_id", "save", "1")
    assert play.refuses("actor_id", "kill", "", "7")
    assert play.refuses("actor_id", "kill", "99", "7")
    assert play.refuses("name", "vote", "1", "7")
    assert play.refuses("name", "speak", "1")
    assert play.refuses("name", "dance", "1")
    play.act("check", "3", "＠ben")
    assert play.last.announcements[0].audience == ("3",)
    assert len(play.last.announcements) == 1
    assert play.refuses("name", "check", "3", "1")
    assert play.refuses("name", "pass", "3")
    play.act("save", "4", "4").act("kill", "1", "4").act("kill", "2", "4")
    assert play.state.deaths == ()
    play.vote().act("kill", "1", "7")
    assert "Dan" not in play.refuses("argument", "save", "4", "Dan")
    play.act("pass", "4").act("pass", "3").act("pass", "2").vote()
    assert play.act("save", "4", "Dan").state.moves == {"4": "4"}
    assert "Gil is dead" in play.refuses("argument", "kill", "1", "Gil")


def test_the_talk_goes_round_from_behind_the_last_speaker():
    play = game("1", talk_rounds=2).act("pass", "1")
    assert play.state.speakers == tuple("1234512345")
    assert MODE.read_action(play.config, play.state, play.table, "2", "me?") is None
    assert "Ann" in play.refuses("actor_id", "speak", "2")
    assert play.refuses("name", "vote", "1", "2")
    play.say("1", "/vote 2").act("pass", "2").say("3", "")
    assert play.state.speakers == tuple("4512345")
    assert play.last.event == "spoke"
    assert "Dan" in play.visible("1")
    play.act("skip")
    assert play.state.phase == "vote"
    play.vote(all="4").act("kill", "1", "5")
    assert play.state.speakers == ("1", "2", "3") * 2
    play = game("1", talk_rounds=1).act("pass", "1").say("1", "a").say("2", "b").act("skip")
    assert play.vote().act("kill", "1", "3").state.speakers == ("4", "5", "1", "2")
    assert game("1", talk_rounds=0).act("pass", "1").state.phase == "vote"


def test_the_vote():
    play = game("1", count=6).act("pass", "1").talk()
    play.act("vote", "2", "3").say("2", "I think\n/vote nobody").act("vote", "2", "1")
    assert play.state.votes == {"2": "1"}
    assert play.last.event == "voted"
    assert play.waits().ids == ("1", "3", "4", "5", "6")
    assert "Hugo" not in play.refuses("argument", "vote", "3", "Hugo")
    play.act("vote", "1", "2").act("vote", "3", "无").act("pass", "4").act("pass", "5")
    play.act("vote", "4", "2").act("pass", "4").act("vote", "6", "1")
    assert play.state.winner == "villagers", "two against one, one for nobody, two passed"
    assert "Ann 2 (Ben, Fay)" in play.told[-4].text
    for votes in ({"v1": "2", "v2": "1"}, {"v2": "3", "v4": "3"}, {}):
        play = game("1", count=5).act("pass", "1").vote(**votes)
        assert (play.state.phase, play.state.day, play.state.deaths) == ("night", 2, ())
        assert "Nobody is voted out" in play.visible("4")
        assert play.state.votes == {}
    play = game("1").act("pass", "1").talk().act("vote", "1", "2").act("vote", "2", "3")
    assert play.act("skip").state.deaths == (), "one against one, and nobody else"
    play = game("1").act("pass", "1").talk().act("vote", "1", "2").act("vote", "2", "nobody")
    assert play.act("skip").state.deaths == (), "one against nobody"
    play = game("1").act("pass", "1").talk().act("vote", "2", "5").act("skip")
    assert play.state.dead == ("5",)
    assert "Eve was a villager" in play.visible("2")
    assert game("1").act("pass", "1").talk().act("skip").state.deaths == ()


def test_only_the_moderator_ends_a_phase_that_hangs():
    assert Game().refuses("name", "skip")
    play = game("12", "3", count=7).act("kill", "1", "7")
    assert play.refuses("actor_id", "skip", "1")
    action = MODE.read_action(play.config, play.state, play.table, "", "/skip")
    assert action == Action("skip")
    assert play.act("skip").state.dead == ("7",)
    assert play.last.event == "dawn"


def test_who_hears_whom():
    play = Game(table_of(7, others=[Seat("9", "Guest")]), players=tuple("1234567"), assign={
        "1": WOLF, "2": WOLF, "3": SEER, "4": DOCTOR, "5": "villager", "6": "villager",
        "7": "villager"})  # fmt: skip
    assert play.audience("1") == ()
    play.act("start")
    assert play.audience("1") == play.audience("2") == ("1", "2")
    assert [play.audience(one) for one in "345"] == [("3",), ("4",), ("5",)]
    assert play.audience("") == play.audience("9") == play.audience("nobody") == ()
    play.act("kill", "2", "6").act("skip")
    assert play.audience("6") == ("6",)
    assert play.audience("1") == play.audience("5") == ()
    play.vote(all="2")
    assert play.audience("2") == play.audience("6") == ("2", "6")
    assert play.audience("1") == ("1",)
    assert play.refuses("actor_id", "kill", "2", "5")
    assert play.refuses("actor_id", "pass", "6")
    assert "dead" in play.memory("6")
    assert "You are dead" not in play.memory("5")


def test_what_is_remembered():
    play = game("12", "3", "4", count=7)
    assert "The werewolves are Ann, Ben." in play.memory("1")
    assert "/kill" in play.memory("2")
    assert "werewolves are" not in play.memory("3")
    assert "/check" in play.memory("3")
    assert "/kill" not in play.memory("5")
    assert "You are a villager" in play.memory("5")
    play.act("check", "3", "2").act("save", "4", "5").act("kill", "1", "6").act("kill", "2", "6")
    assert "Ben is a werewolf" in play.memory("3")
    assert "Ben is" not in play.memory("6")
    assert "guarded is Eve" in play.memory("4")
    assert "guarded" not in play.memory("5")
    assert "your turn" in play.memory("1")
    assert "your turn" not in play.memory("2")
    assert "Killed in night 1: Fay, a villager." in play.memory("9")
    assert "Alive: Ann, Ben, Cleo, Dan, Eve, Gil." in play.memory("9")
    assert "/vote" in play.talk().memory("5")
    assert "/vote" not in play.memory("6")
    play.act("vote", "5", "1")
    assert "/vote" not in play.memory("5")
    assert "day 1" in play.memory("5")
    for one in MODE.memory(play.config, play.state, play.table):
        assert one.field in WerewolfState.__struct_fields__
    assert "/start" in Game().memory("1")


def test_moves_in_messages():
    play = game("1")
    read = lambda text: MODE.read_action(play.config, play.state, play.table, "1", text)  # noqa: E731
    assert read("well…\n  ／Kill  ＠Ben \n/pass") == Action("kill", "1", "＠Ben")
    assert read("```\n/kill Ben\n```\n/pass") == Action("pass", "1")
    assert read("~~~~\n/kill 2\n~~~\n/pass") is None
    assert read("/dance\n/杀 Ben") == Action("kill", "1", "Ben")
    assert read("/start@bot") == Action("start", "1", "@bot")
    for text in ("kill Ben", "I /kill Ben", "/ kill", "/killing Ben", "/start/x", "/过来", ""):
        assert read(text) is None
    assert game("1").act("kill", "1", ' "@BEN". ').state.dead == ("2",)
    assert game("1").say("1", "/kill: ben").state.dead == ("2",)


# --- random games --------------------------------------------------------------------------------


def check_invariants(play):
    state, roles = play.state, play.state.roles
    assert msgspec.json.decode(msgspec.json.encode(state), type=MODE.state_type) == state
    assert [one.id for one in state.deaths] == list(dict.fromkeys(one.id for one in state.deaths))
    assert set(state.alive) | {one.id for one in state.deaths} == set(state.players) == set(roles)
    assert len(state.alive) + len(state.deaths) == len(state.players)
    assert set(state.votes) <= set(state.alive) >= set(state.moves) | set(state.passed)
    assert set(state.votes.values()) <= {*state.alive, ""}
    assert not (state.votes.keys() | state.moves.keys()) & set(state.passed)
    assert list(state.moves) == [] or state.phase == "night"
    assert list(state.votes) == [] or state.phase == "vote"
    assert sorted(state.move_order) == sorted(state.moves)
    for one, target in state.moves.items():
        assert roles[one] != "villager"
        assert target in state.alive
        assert roles[one] != WOLF or roles[target] != WOLF
    assert all((roles[one.id] == WOLF) is one.is_werewolf for one in state.findings)
    wolves = sum(roles[one] == WOLF for one in state.alive)
    won = "" if 0 < wolves < len(state.alive) - wolves else "werewolves" if wolves else "villagers"
    assert state.winner == (won if roles else "")
    assert (state.phase == "over") is bool(state.winner)
    assert set(play.waits().ids) <= set(state.alive)
    if state.phase in ("night", "talk", "vote"):
        assert play.waits().ids
        for one in state.players:
            audience = set(play.audience(one))
            if one in state.dead:
                assert audience == set(state.dead)
            elif state.phase == "night":
                pack = {other for other in state.alive if roles[other] == WOLF}
                assert audience == (pack if one in pack else {one})
            else:
                assert audience == set()


def check_secrets(play, told):
    """Nobody sees a role word beside the name of another living player, but wolves and seers what they may."""
    state, roles = play.state, play.state.roles
    if state.phase in ("lobby", "over"):
        return
    for viewer in state.players:
        found = {one.id for one in state.findings if one.seer_id == viewer}
        seen = play.visible(viewer, told) + "\n" + play.memory(viewer)
        for one in state.alive:
            is_fellow = roles[viewer] == roles[one] == WOLF
            if one == viewer or one in found or is_fellow:
                continue
            name = play.table.name_of(one)
            for line in seen.splitlines():
                assert name not in line or not any(word in line for word in ROLE_WORDS), (
                    viewer,
                    line,
                )
    for viewer in state.alive:
        assert play.memory(viewer) == memory_of_another_world(play, viewer).memory(viewer)


def memory_of_another_world(play, viewer):
    """The same game to this viewer: the others' roles, moves, findings and saves are others."""
    state = play.state
    fixed = {one for one in state.players if one not in state.alive or one == viewer}
    if state.roles[viewer] == WOLF:
        fixed |= {one for one in state.players if state.roles[one] == WOLF}
    free = [one for one in state.players if one not in fixed]
    swapped = dict(zip(free, reversed([state.roles[one] for one in free]), strict=True))
    other = Game.__new__(Game)
    other.config, other.table = play.config, play.table
    other.state = msgspec.structs.replace(
        state,
        roles=state.roles | swapped,
        moves={one: target for one, target in state.moves.items() if one == viewer},
        votes={one: target for one, target in state.votes.items() if one == viewer},
        findings=tuple(one for one in state.findings if one.seer_id == viewer),
        last_saves={one: saved for one, saved in state.last_saves.items() if one == viewer},
        seed=7,
    )
    return other


@st.composite
def games(draw):
    count = draw(st.integers(3, 8))
    ids = [str(n) for n in range(1, count + 1)]
    personas = draw(st.sets(st.sampled_from(ids)))
    language = draw(st.sampled_from([Language.EN, Language.ZH]))
    roles = draw(
        st.dictionaries(st.sampled_from([WOLF, SEER, DOCTOR]), st.integers(0, 2), max_size=3)
    )
    rounds = draw(st.integers(0, 2))
    return table_of(count, language, personas), roles, rounds, draw(st.integers(0, 99))


def random_move(play, rng):
    """A likely legal move, or now and then anything."""
    waits = play.waits().ids
    everybody = [one.id for one in play.table.seats]
    target = rng.choice(everybody)
    if waits and rng.random() < 0.8:
        actor = rng.choice(waits)
        night = {WOLF: "kill", SEER: "check", DOCTOR: "save"}.get(play.state.roles[actor], "pass")
        name = {"night": night, "talk": "speak", "vote": "vote"}[play.state.phase]
        return Action(rng.choice((name, name, name, "pass")), actor, target)
    names = ("start", "kill", "check", "save", "speak", "vote", "pass", "skip", "", "杀", "x")
    arguments = (target, play.table.name_of(target), "", "nobody", "\0", "@", "@@ \ud800", "{x}")
    return Action(rng.choice(names), rng.choice((*everybody, "", "?")), rng.choice(arguments))


@settings(max_examples=examples(120))
@given(games(), st.integers(0, 2**32))
def test_random_games_hold_the_rules_and_keep_the_secrets(set_up, seed):
    table, roles, rounds, dealt = set_up
    rng = random.Random(seed)
    try:
        play = Game(table, dealt, roles=roles, talk_rounds=rounds).act("start")
    except ActionRefused:  # more roles than players
        return
    check_secrets(play, play.told)
    fields = set()
    for _ in range(80):
        before, action = play.state, random_move(play, rng)
        try:
            play.act(action.name, action.actor_id, action.argument)
        except ActionRefused as refused:
            fields.add(refused.field if refused.message else "")
            continue
        check_invariants(play)
        check_secrets(play, play.last.announcements)
        if play.last.event == "moved":
            mover, wolves = action.actor_id, before.living(WOLF)
            allowed = set(wolves) if mover in wolves else {mover}
            assert all({*one.audience} == allowed for one in play.last.announcements)
    assert fields <= {"name", "actor_id", "argument"}
    for _ in range(500):  # it can be played to its end from wherever it stands
        if play.state.phase == "over":
            break
        wolf = play.state.living(WOLF)[0]
        if play.state.phase == "vote":
            for one in play.state.alive:
                if play.state.phase == "vote":
                    play.act("vote", one, wolf)
        else:
            play.act("skip")
        check_invariants(play)
    assert play.state.phase == "over"
