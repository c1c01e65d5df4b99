"""Whose system text wins, and templates with parameters of the message."""

from __future__ import annotations

from itertools import product

import pytest

from backscroll_sidecar.context.model import SystemPrompt
from backscroll_sidecar.context.profiles import BotSettings, ContextSettings
from backscroll_sidecar.domain import Author
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.texts import DESIGNS, Language, Wording, wordings_of
from tests.golden import by_hand
from tests.kit.chats import ANN, say
from tests.kit.rooms import Room, payload


def system_of(built) -> str | None:
    first = payload(built)["messages"][0]
    return first["content"] if first["role"] == "system" else None


@pytest.mark.parametrize(
    ("request_", "bot", "server", "profile"), list(product([False, True], repeat=4))
)
def test_precedence(request_, bot, server, profile):
    """S1-11, S1-17: the request's, else the bot's, else the server's, else the profile's, else none."""
    settings = ContextSettings(
        bots={"b1": BotSettings(system_text="of the bot" if bot else None)},
        system_text="of the server" if server else None,
        wordings=wordings_of(Wording.DESIGNS, Language.AUTO),
    )
    built = Room(settings=settings).build_now(
        self_ids=("b1", "b2"),
        system=SystemPrompt("of the request") if request_ else None,
        profile="retrieval" if profile else "room",
    )
    offers = [
        (request_, "of the request"),
        (bot, "of the bot"),
        (server, "of the server"),
        (profile, by_hand.SYSTEM),
    ]
    assert system_of(built) == next((text for there, text in offers if there), None)


def test_an_empty_text_is_a_choice():
    """S1-11: a request can ask for no system text at all."""
    settings = ContextSettings(system_text="of the server")
    assert system_of(Room(settings=settings).build_now(system=SystemPrompt(""))) is None


def test_the_text_of_the_design():
    """S1-17: the default instruction of section 5.2, to the byte."""
    assert DESIGNS.instruction.encode() == by_hand.SYSTEM.encode()


TEMPLATE = SystemPrompt(
    "{{mood}} bot in {{channel}}/{{ thread_id }}/{{session_id}}: {{asker_name}} ({{asker_id}}) asks {{question}} "
    "at {{asked_at}}",
    is_template=True,
    parameters={"mood": "Kind", "question": "not this one"},
)


def test_two_messages_two_prompts():
    """S5-51: a template filled with parameters of the message: two messages, two prompts."""
    room = Room([say("m", ANN)])
    request = {
        "system": TEMPLATE,
        "thread_id": "t",
        "session_id": "s",
        "time_zone": "Asia/Shanghai",
    }
    first = room.build_now("why?", ANN, **request)
    second = room.build_now("how?", Author("u7"), **request)
    when = "2026-11-20T20:00:00+08:00"
    assert system_of(first) == f"Kind bot in room/t/s: Ann (u1) asks why? at {when}"
    assert system_of(second) == f"Kind bot in room/t/s: u7 (u7) asks how? at {when}"
    assert first.tokens.system > 20


def test_a_text_is_no_template_unless_it_says_so():
    """S5-51: braces in an ordinary system text stay as they are."""
    assert system_of(Room().build_now(system=SystemPrompt("{{question}}"))) == "{{question}}"


@pytest.mark.parametrize("question", ["{{mood}}", "{{asker_id}} \\1 \\g<0>", "$0"])
def test_values_are_not_filled_again(question):
    """S5-51, law 4: what a user writes is a value, never a template."""
    prompt = SystemPrompt("{{question}}", is_template=True, parameters={"mood": "bad"})
    assert system_of(Room().build_now(question, system=prompt)) == question


def test_an_unknown_name_is_refused():
    """S5-51: no model ever reads a placeholder."""
    with pytest.raises(InvalidRequest) as refused:
        Room().build_now(system=SystemPrompt("{{mood}}", is_template=True))
    assert refused.value.field == "system.text"
