"""The worked example of design S1 as a room: two reference lines from long ago, four recent ones."""

from backscroll_sidecar.domain import Category, Message, SpeakerStyle, TimeStyle
from backscroll_sidecar.strategies import Messages
from tests.golden import by_hand
from tests.kit.chats import ANN, BOT, DAY_MS, MINUTE_MS, say
from tests.kit.rooms import DESIGNED, Fixed, Room

AUTHORS = {"user": ANN, "assistant": BOT}


def example_messages() -> list[Message]:
    lines = [*by_hand.SEMANTIC, *by_hand.RECENT]
    ages_ms = [30 * DAY_MS, 30 * DAY_MS - MINUTE_MS, *(MINUTE_MS * n for n in (4, 3, 2, 1))]
    return [
        say(f"m{n}", AUTHORS[role], text, age_ms)
        for n, ((role, text), age_ms) in enumerate(zip(lines, ages_ms, strict=True), 1)
    ]


def example_room() -> Room:
    semantic = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=("m1", "m2")))
    return Room(example_messages(), own=[semantic], settings=DESIGNED)


def example_request(*, preferences: bool, recent: bool, semantic: bool) -> dict:
    """The request that finds exactly the parts asked for."""
    sources = [name for name, on in (("recent", recent), ("semantic", semantic)) if on]
    return {
        "question": by_hand.QUESTION,
        "profile": "retrieval",
        "overrides": {"sources": (*sources, "preferences"), "recent_limit": 4},
        "preferences": (by_hand.PREFERENCE,) if preferences else (),
        "speaker_style": SpeakerStyle.ROLE,
        "time_style": TimeStyle.NONE,
    }
