"""What a table of gateway packets becomes with discord.py, as plain data: python -m tests.adapters.discord_packets."""

import asyncio
import json
from types import SimpleNamespace

import discord

from backscroll._encode import epoch_ms
from backscroll.adapters.discord import event_of
from tests.adapters.plain import cases, plain

CAT = {"id": "900", "username": "catbot", "global_name": "Cat", "discriminator": "0", "bot": True}
CAT |= {"avatar": None}
ROLE = {"permissions": "0", "position": 0, "color": 0, "hoist": False, "managed": False}
ROLE |= {"mentionable": False, "flags": 0}
GUILD = {
    "id": "10",
    "members": [{"user": CAT, "roles": ["11"], "joined_at": None, "flags": 0}],
    "roles": [
        {"id": "10", "name": "@everyone"} | ROLE,
        {"id": "11", "name": "Cat", "tags": {"bot_id": "900"}} | ROLE,
    ],
    "channels": [{"id": "20", "type": 0, "name": "cats", "position": 0}],
}
HEARD = ("message", "raw_message_edit", "raw_message_delete", "raw_bulk_message_delete")


async def read(packet: dict) -> object:
    """Hand a packet to a client that is not connected; the event of what it tells the bot."""
    client = discord.Client(intents=discord.Intents.all(), chunk_guilds_at_startup=False)
    state, told = client._connection, []
    state.user = discord.ClientUser(state=state, data=CAT)
    state._add_guild_from_data(GUILD)
    state.dispatch = lambda name, *given: told.append(given[-1]) if name in HEARD else None
    state.parsers[packet["t"]](packet["d"])
    return plain(event_of(told[0], SimpleNamespace(id=900))) if told else None


async def main() -> None:
    found = []
    for case in cases("discord"):
        try:
            found.append(await read(case["given"]))
        except KeyError:  # discord.py itself does not take everything
            found.append(None)
    print(json.dumps(found, default=epoch_ms))


asyncio.run(main())
