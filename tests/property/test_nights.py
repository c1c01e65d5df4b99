"""Nights of werewolf on a server: nobody's prompt holds what it must not know.

Everything that somebody says holds a canary of its own. What was said at night, who is what and what a seer found are
held against every prompt that a persona was asked with. `make proof` plays a thousand nights.
"""

import asyncio
import json
import random
import re
import threading
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll.v1 import message_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.context import visibility
from backscroll_sidecar.ports import ModelRequest
from backscroll_sidecar.sessions.modes.werewolf import Werewolf
from backscroll_sidecar.sessions.modes.werewolf_texts import CHINESE, ENGLISH, WEREWOLF
from tests.integration.rooms.room import PERSONA, CatModel, Room, Round, human, room

NAMES = {
    "en": ("Alder", "Birch", "Cedar", "Elm", "Hazel", "Juniper", "Linden", "Maple", "Rowan"),
    "zh": ("甲猫", "乙猫", "丙猫", "丁猫", "戊猫", "己猫", "庚猫", "辛猫", "壬猫"),
}
TEXTS = {"en": ENGLISH, "zh": CHINESE}
CANARY = re.compile(r"KN\d+z")
STEPS = 14
GAMES_OF_A_SERVER = 30
"""A store in memory looks through all that it has: it gets slow with old games."""
REFUSED = (
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.ALREADY_EXISTS,
)
MOVES = {"kill": "杀", "check": "查验", "save": "救", "vote": "投票", "pass": "过"}


def matching(template: str, **known: str) -> re.Pattern[str]:
    """What finds a text of the game; a parameter that is not known may be any run of one line."""
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile(
        "".join(re.escape(known.get(one, one)) if place % 2 == 0 or one in known else "[^\n]+?"
                for place, one in enumerate(parts))
    )  # fmt: skip


@dataclass
class Words:
    """A canary: who said it and for whom it is; None: for everybody. At night that is known at the end of the game."""

    author: str
    is_private: bool
    night: int = 0
    audience: frozenset[str] = frozenset()


@dataclass
class Game:
    """One game, and what everybody said in it."""

    chat: Room
    language: str
    people: list[str]
    personas: list[str]
    config: dict[str, Any]
    rng: random.Random
    is_disturbed: bool
    words: dict[str, Words] = field(default_factory=dict)
    turns: Counter[str] = field(default_factory=Counter)
    prompts: list[tuple[str, str, str]] = field(default_factory=list)
    """Who was asked, with what system text, and with what else."""
    refusals: Counter[str] = field(default_factory=Counter)
    nights: int = 0
    heard: int = 0
    """How often a prompt held what somebody else had said for some."""

    @property
    def name_of(self) -> dict[str, str]:
        names = NAMES[self.language]
        return {
            id_: names[place] for place, id_ in enumerate(sorted((*self.people, *self.personas)))
        }

    @property
    def ids(self) -> dict[str, str]:
        return {name: id_ for id_, name in self.name_of.items()}

    def canary(self, words: Words) -> str:
        mark = f"KN{len(self.words)}z"
        self.words[mark] = words
        return mark

    # --- the personas ---

    async def answer(self, name: str, request: ModelRequest) -> str:
        """Something with a canary, and a move that may be the right one, a wrong one, or none."""
        me = self.ids[name]
        system, *rest = [one.content for one in request.messages]
        self.prompts.append((me, system, "\n".join(rest)))
        self.turns[me] += 1
        rng = random.Random(f"{self.config}{me}{self.turns[me]}")
        if self.is_disturbed:
            for _ in range(rng.randint(0, 30)):
                await asyncio.sleep(0)
        night = matching(TEXTS[self.language].night_line).search(system)
        day = int(re.search(r"\d+", night[0])[0]) if night else 0
        mark = self.canary(Words(me, is_private=bool(day), night=day))
        return f"{mark} {rng.choice(['hm', '嗯', 'I think so'])}\n{self.move(rng, system)}"

    def move(self, rng: random.Random, system: str = "") -> str:
        to_do = matching(TEXTS[self.language].to_do).search(system)
        told = [
            one
            for one in MOVES
            if to_do and (f"/{one}" in to_do[0] or f"/{MOVES[one]}" in to_do[0])
        ]
        word = rng.choice(told * 6 + [*MOVES, "", ""])
        if not word:
            return rng.choice(["", "/dance", "(/kill is what I would write)"])
        whom = rng.choice([*self.ids, "nobody"]) if word != "pass" else ""
        return f"/{rng.choice([word, MOVES[word]])} {whom}".strip()

    # --- the game ---

    async def play(self) -> None:
        await self.chat.open(
            mode="werewolf", role_config_json=json.dumps(self.config),
            policy=pb.RoomPolicy(language=self.language),
            participants=[
                *(human(one, self.name_of[one]) for one in self.people),
                *(
                    pb.Participant(id=one, kind=PERSONA, name=self.name_of[one], persona="cat")
                    for one in self.personas
                ),
                human("guest", "Passerby"),
            ],
        )  # fmt: skip
        self.noted(
            await self.chat.say("/start", self.author(self.rng.choice(["guest", *self.people])))
        )
        if (await self.state())["phase"] == "lobby":
            await self.moved("start", "", "")
        for _ in range(STEPS):
            state = await self.state()
            if state["phase"] == "over":
                break
            await self.step(state)
        await self.check()

    async def step(self, state: dict[str, Any]) -> None:
        """Somebody says or does something, mostly what is waited for."""
        rng, phase = self.rng, state["phase"]
        awaited = [one for one in self.people if one in state["alive"]]
        if phase == "talk":
            awaited = [one for one in awaited if one == state["speakers"][0]]
        kind = rng.choices(
            ["say", "act", "skip", "burst"], [6, 3, 2, 2 if self.is_disturbed else 0]
        )[0]
        actor = rng.choice([*awaited * 4, *self.people, "guest"])
        role = state["roles"].get(actor, "")
        right = {"night": {"werewolf": "kill", "seer": "check", "doctor": "save"}.get(role, "pass")}
        word = right.get(phase, "vote") if rng.random() < 0.7 else rng.choice(list(MOVES))
        whom = rng.choice([*self.ids, *self.ids.values(), "nobody"])
        if kind == "say":
            mark = self.canary(self.meant(state, actor))
            move = f"\n/{word} {whom}" if rng.random() < 0.6 else f" @{rng.choice(list(self.ids))}"
            self.noted(await self.chat.say(f"{mark} hear me{move}", self.author(actor)))
        elif kind == "act":
            await self.moved(word, actor, whom)
        elif kind == "skip":
            await self.moved("skip", "", "")
        else:  # the phase may end while personas write
            talk = self.chat.say("/pass", self.author(actor))
            heard, *_ = await asyncio.gather(talk, self.later("skip"), self.later("skip"))
            self.noted(heard)

    def meant(self, state: dict[str, Any], actor: str) -> Words:
        """For whom something is that is said now."""
        if actor not in state["players"]:
            return Words(actor, is_private=False)
        if actor not in state["alive"]:
            dead = frozenset(state["players"]) - frozenset(state["alive"])
            return Words(actor, is_private=True, audience=dead)
        return Words(actor, is_private=state["phase"] == "night", night=state["day"])

    async def later(self, name: str) -> None:
        for _ in range(self.rng.randint(0, 60)):
            await asyncio.sleep(0)
        await self.moved(name, "", "")

    async def moved(self, name: str, actor: str, whom: str) -> None:
        argument = "" if name in ("pass", "skip", "start") else whom
        try:
            await self.chat.act(name, actor, argument)
        except grpc.aio.AioRpcError as refused:
            if refused.code() not in REFUSED:
                raise
            self.refusals[name] += 1

    def noted(self, heard: Round) -> None:
        if heard.refusal is not None:
            assert heard.refusal.reason in ("ACTION_REFUSED", "CONFLICT"), heard.refusal
            self.refusals["said"] += 1

    def author(self, id_: str) -> message_pb2.Author:
        return message_pb2.Author(id=id_, name=self.name_of.get(id_, "Passerby"))

    async def state(self) -> dict[str, Any]:
        return await self.chat.state()

    # --- the invariant ---

    async def check(self) -> None:
        asked = pb.ListStatesRequest(session=self.chat.ref, limit=1_000)
        log = (await self.chat.stub.ListStates(asked)).states
        states = [json.loads(one.mode_state_json) for one in log]
        final = states[0]
        roles: dict[str, str] = final["roles"]
        awake = {  # who lived in each night
            one["day"]: one["alive"] for one in states if one["phase"] == "night"
        }
        self.nights = len(awake)
        for me, system, rest in self.prompts:
            told = f"{me} of {roles}: {system}\n---\n{rest}"
            for mark in CANARY.findall(system + rest):
                words = self.words[mark]
                assert self.may_hear(me, words, roles, awake), f"{mark} {words}\n{told}"
                self.heard += words.is_private and words.author != me
            self.check_roles(me, system, rest, final, told)

    def may_hear(
        self, me: str, words: Words, roles: dict[str, str], awake: dict[int, list[str]]
    ) -> bool:
        if not words.is_private or me == words.author:
            return True
        if not words.night:
            return me in words.audience
        pack = [one for one in awake[words.night] if roles[one] == WEREWOLF]
        return words.author in pack and me in pack

    def check_roles(
        self, me: str, system: str, rest: str, final: dict[str, Any], told: str
    ) -> None:
        """That nothing is said of the roles of the living, and that what only some know is known to these."""
        texts, roles, prompt = TEXTS[self.language], final["roles"], f"{system}\n{rest}"
        line = re.search(f"{matching(texts.alive_line).pattern}$", system, re.MULTILINE)
        assert line is not None, told
        alive = [one for one in roles if self.name_of[one] in line[0]]
        if self.is_disturbed:  # what has just been announced may be there before the line is
            dead = {one["id"] for one in final["deaths"]}
            alive = [one for one in alive if one not in dead]
        if texts.villagers_won in prompt or texts.werewolves_won in prompt:
            return  # then everybody knows
        for one in alive:
            name = self.name_of[one]
            for template in (texts.was, texts.is_role, texts.killed_line, texts.voted_out_line):
                for role in texts.roles.values():
                    found = matching(template, name=name, role=role).search(prompt)
                    assert one == me or not found, f"{found}\n{told}"
        for role in set(texts.roles) - {roles[me]}:
            line_of = texts.you_are.format(role=texts.roles[role], task=texts.tasks[role])
            assert line_of not in prompt, f"{line_of}\n{told}"
        own = texts.you_are.format(role=texts.roles[roles[me]], task=texts.tasks[roles[me]])
        assert (system.count(own), rest.count(own) <= 1) == (1, True), told
        assert roles[me] == WEREWOLF or texts.fellows.split("{")[0] not in prompt, told
        known = {
            (one["id"], one["is_werewolf"]) for one in final["findings"] if one["seer_id"] == me
        }
        for one in roles:
            name = self.name_of[one]
            for is_wolf, template in ((True, texts.finding), (False, texts.finding_none)):
                if template.format(name=name) in prompt:
                    assert (one, is_wolf) in known, f"{template} {name}\n{told}"
            named = matching(texts.victim_named, name=name).search(prompt)
            assert roles[me] == WEREWOLF or not named, f"{named}\n{told}"
            assert roles[me] == "doctor" or texts.saved.format(name=name) not in prompt, told


# --- one server for all games ------------------------------------------------------------------------


class Server:
    """A server on a thread of its own, and a room in front."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.model = CatModel(names=(*NAMES["en"], *NAMES["zh"]))
        self._open()
        self.seen: Counter[str] = Counter()

    def _open(self) -> None:
        self._opened = room(self.model)
        self.chat = self._run(self._opened.__aenter__())

    def play(self, **given: Any) -> None:
        """A game, to its end or for so many steps, and what must hold of it."""
        if self.seen["games"] % GAMES_OF_A_SERVER == GAMES_OF_A_SERVER - 1:
            self._run(self._opened.__aexit__(None, None, None))
            self._open()
        game = Game(self.chat, **given)
        self.model.answers = game.answer
        self.model.calls.clear()
        self._run(game.play())
        self.seen["games"] += 1
        self.seen["prompts"] += len(game.prompts)
        self.seen["canaries"] += len(game.words)
        self.seen["nights"] += game.nights
        self.seen["secrets heard"] += game.heard
        self.seen["refused"] += game.refusals.total()

    def close(self) -> None:
        self._run(self._opened.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@st.composite
def games(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(4, 9))
    persona_count = draw(st.integers(1, count))
    people = [f"u{one}" for one in range(count - persona_count)]
    personas = [f"p{one}" for one in range(persona_count)]
    wolves = draw(st.integers(1, (count - 1) // 2))
    seers = draw(st.integers(0, min(2, count - wolves)))
    doctors = draw(st.integers(0, min(1, count - wolves - seers)))
    roles = {"werewolf": wolves, "seer": seers, "doctor": doctors}
    seed = draw(st.integers(0, 10**6))
    return {
        "language": draw(st.sampled_from(["zh", "en"])),
        "people": people,
        "personas": personas,
        "config": {
            "roles": roles,
            "seed": seed,
            "talk_rounds": draw(st.integers(0, 2)),
            "players": [*people, *personas],
        },
        "rng": random.Random(seed),
        "is_disturbed": draw(st.booleans()),
    }


def play_games(count: int) -> Counter[str]:
    """So many games, each of a night at least, on one server; what was seen in them."""
    server = Server()

    @given(games())
    @settings(max_examples=count, deadline=None)
    def play(game: dict[str, Any]) -> None:
        server.play(**game)

    try:
        play()
    finally:
        server.close()
    print(dict(server.seen))
    assert server.seen["nights"] >= count
    assert server.seen["prompts"] > 4 * count
    assert server.seen["secrets heard"] > count // 3
    return server.seen


@pytest.mark.slow
@pytest.mark.row("S4-34", "N-18")
def test_nobodys_prompt_holds_what_it_must_not_know() -> None:
    play_games(25)


@pytest.mark.proof
@pytest.mark.row("S4-34", "N-18")
@pytest.mark.timeout(3_600)
def test_a_thousand_nights() -> None:
    seen = play_games(500)
    assert seen["nights"] >= 1_000


def of_all(view: Any, *_: Any) -> Any:
    return view.state == view.state


def for_all(*given: Any) -> Any:
    return tuple(replace(one, audience=()) for one in MEMORY(*given))


MEMORY = Werewolf.memory
LEAKS: dict[str, tuple[Any, str, Any]] = {
    "nothing": (Werewolf, "name", Werewolf.name),
    "the night is for everybody": (Werewolf, "audience_of", lambda *_: ()),
    "roles and findings are for everybody": (Werewolf, "memory", for_all),
    "builds heed no audience": (visibility, "_meant", of_all),
}


@pytest.mark.slow
@pytest.mark.parametrize("leak", LEAKS)
def test_a_server_that_tells_is_found_out(leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of the test: the same games pass where nothing is broken, and some game says so where something is."""
    monkeypatch.setattr(*LEAKS[leak])
    server = Server()
    told = pytest.raises(AssertionError, match=r"KN|You are|你是|is a|狼人|werewol")
    try:
        with nullcontext() if leak == "nothing" else told:
            for seed in range(8):
                personas = [f"p{one}" for one in range(6)]
                server.play(
                    language="zh" if seed % 2 else "en",
                    people=["u0"],
                    personas=personas,
                    config={
                        "roles": {"werewolf": 2, "seer": 1, "doctor": 1},
                        "seed": seed,
                        "players": ["u0", *personas],
                    },
                    rng=random.Random(seed),
                    is_disturbed=False,
                )
    finally:
        server.close()
