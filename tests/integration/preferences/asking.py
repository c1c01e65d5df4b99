"""What the model reads of somebody's preferences."""

from backscroll import Author, Message

NOON = 1_795_176_000_000
DAY_MS = 86_400_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
LINES = [
    Message(f"m{n}", (ANN, BEN)[n % 2], f"small talk number {n}", NOON - 600_000 + n * 1_000)
    for n in range(12)
]
LABELS = ("User Preferences: ", "用户偏好: ")


async def shown(client, channel="room", asker=ANN, question="and what now?", at=NOON, **fields):
    """The lines of the section of preferences."""
    context = await client.build_context(
        channel, question=question, asked_at=at, asker=asker, layout="single_user", **fields
    )
    for label in LABELS:
        if label in context.text:
            section = context.text.split(label)[1].split("\n\n")[0]
            return [line.strip() for line in section.split("\n")]
    return []


async def stored(client, user="u1", **fields):
    """What is listed: where, what, whether it holds."""
    found = await client.list_preferences(user, **fields)
    return [(one.channel, one.topic, one.value, one.status) for one in found]
