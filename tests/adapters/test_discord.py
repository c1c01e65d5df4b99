"""discord.py against a fake of Discord: its REST API and its gateway."""

import asyncio
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from backscroll.adapters import discord
from tests.adapters.kit import example, node_with, program, python_with, staged, web
from tests.adapters.plain import plain
from tests.adapters.platforms import ME, discord_message
from tests.kit.patience import patience

CHANNEL, DIRECT, BEGAN_MS = "discord:20", "discord:30", 1_795_132_800_000
GUILD = "10"


def snowflake(offset_ms: int) -> str:
    """An id of a message sent then: Discord's hold the time."""
    return str((BEGAN_MS + offset_ms - 1_420_070_400_000) << 22)


def user(id: str, name: str, **more: object) -> dict:
    about = {"discriminator": "0", "avatar": None, "global_name": name.title()}
    return {"id": id, "username": name} | about | more


CAT, ANN, BEN = (
    user("900", "catbot", bot=True, global_name="Cat"),
    user("1", "ann"),
    user("2", "ben"),
)


class Discord:
    """What a bot logs in to, and hears of on the gateway."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        self.connected: asyncio.Future[WebSocket] = asyncio.get_running_loop().create_future()
        self.sequence = 0
        self.app = Starlette(
            routes=[
                Route("/api/v10/users/@me", self._me),
                Route("/api/v10/oauth2/applications/@me", self._application),
                Route("/api/v10/gateway/bot", self._gateway),
                Route("/api/v10/channels/{id}/messages", self._send, methods=["POST"]),
                WebSocketRoute("/gateway", self._serve),
            ]
        )

    async def _me(self, request: Request) -> JSONResponse:
        return JSONResponse(CAT)

    async def _application(self, request: Request) -> JSONResponse:
        about = {"id": "900", "name": "Cat", "description": "", "icon": None, "flags": 0}
        public = {"bot_public": True, "bot_require_code_grant": False, "verify_key": "k"}
        return JSONResponse(about | public | {"summary": "", "owner": ANN})

    async def _gateway(self, request: Request) -> JSONResponse:
        limit = {"total": 9, "remaining": 9, "reset_after": 0, "max_concurrency": 1}
        url = f"ws://{request.url.netloc}/gateway"
        return JSONResponse({"url": url, "shards": 1, "session_start_limit": limit})

    async def _send(self, request: Request) -> JSONResponse:
        given = await request.json()
        self.sent.append(given)
        answered = given["message_reference"]
        message = self.message(
            snowflake(60_000 + len(self.sent)),
            CAT,
            given["content"].strip(),
            channel_id=request.path_params["id"],
            type=19,
            message_reference=answered,
            referenced_message=self.message(str(answered["message_id"]), ANN, "?"),
        )
        if message["channel_id"] != "20":
            del message["guild_id"]
            message["channel_type"] = 1
        await self.deliver("MESSAGE_CREATE", message)  # a bot hears of its own, too
        return JSONResponse(message)

    async def _serve(self, socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_json(
            {"op": 10, "d": {"heartbeat_interval": 40_000}, "s": None, "t": None}
        )
        self.socket = socket
        try:
            while True:
                said = await socket.receive_json()
                if said["op"] == 1:
                    await socket.send_json({"op": 11, "d": None, "s": None, "t": None})
                elif said["op"] == 2:
                    await self._welcome(said["d"]["intents"])
        except WebSocketDisconnect:
            pass

    async def _welcome(self, intents: int) -> None:
        assert intents & 1 << 15, "without the intent the texts are empty"
        self.connected.set_result(self.socket)
        ready = {"v": 10, "user": CAT, "guilds": [{"id": GUILD, "unavailable": True}]}
        session = {"session_id": "s1", "resume_gateway_url": "ws://127.0.0.1:9"}
        await self.deliver("READY", ready | session | {"application": {"id": "900", "flags": 0}})
        everyone = {"id": GUILD, "name": "@everyone", "permissions": "0", "position": 0, "color": 0}
        mine = everyone | {"id": "11", "name": "Cat", "tags": {"bot_id": "900"}}
        common = {"hoist": False, "managed": False, "mentionable": False, "flags": 0}
        guild = {
            "id": GUILD,
            "name": "Cats",
            "owner_id": "1",
            "roles": [everyone | common, mine | common],
            "members": [{"user": CAT, "roles": ["11"], "joined_at": None, "flags": 0}],
            "channels": [{"id": "20", "type": 0, "name": "cats", "position": 0}],
            "member_count": 3,
            "features": [],
            "premium_tier": 0,
            "preferred_locale": "en-US",
        }
        await self.deliver("GUILD_CREATE", guild)

    async def deliver(self, event: str, told: dict) -> None:
        self.sequence += 1
        async with patience():
            socket = await self.connected
            await socket.send_json({"op": 0, "s": self.sequence, "t": event, "d": told})

    def message(self, id: str, author: dict, content: str, **more: object) -> dict:
        return {
            "id": id,
            "channel_id": "20",
            "guild_id": GUILD,
            "author": author,
            "content": content,
            "timestamp": "2026-11-20T00:00:00+00:00",
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "type": 0,
        } | more


@pytest.mark.proof
async def test_discord_py(tmp_path):
    def source(address):
        return (
            "import discord.gateway, discord.http, yarl\n"
            f"discord.http.Route.BASE = 'http://{address}/api/v10'\n"
            f"gateway = yarl.URL('ws://{address}/gateway')\n"
            "discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway\n"
        ) + example("discord.py")

    await play(source, [python_with("discord")], tmp_path)


@pytest.mark.proof
async def test_discord_js(tmp_path):
    def source(address):
        at = f'{{ rest: {{ api: "http://{address}/api" }}, intents,'
        return example("discord.js", "js").replace("{ intents,", at)

    await play(source, [node_with("discord.js")], tmp_path)


async def play(source_at, command, tmp_path):
    """One message in and one reply out, an edit, a deletion, something delivered again, another chat."""
    platform = Discord()
    async with staged() as stage, web(platform.app) as address:
        stage.environment["DISCORD_TOKEN"] = "token"
        async with program(stage, source_at(address), command, tmp_path):
            first, second, third, fourth = map(snowflake, (1, 2, 3, 4))
            nick = {"member": {"nick": "Benny", "roles": [], "joined_at": None, "flags": 0}}
            said = platform.message(first, BEN, "the cat eats at nine", **nick)
            await platform.deliver("MESSAGE_CREATE", said)
            await stage.until_stored(CHANNEL, first)
            question = platform.message(
                second,
                ANN,
                "<@900> when is dinner?",
                mentions=[CAT],
                type=19,
                message_reference={"message_id": first, "channel_id": "20", "guild_id": GUILD},
                referenced_message=said,
            )
            await platform.deliver("MESSAGE_CREATE", question)
            await stage.until_stored(CHANNEL, snowflake(60_001))
            await platform.deliver("MESSAGE_CREATE", question)  # as after a session that is resumed
            await platform.deliver("MESSAGE_UPDATE", said | {"embeds": [{"type": "link"}]})
            edited = {"content": "at ten", "edited_timestamp": "2026-11-20T00:00:09+00:00"}
            await platform.deliver("MESSAGE_UPDATE", said | edited)
            file = {"id": "5", "filename": "a.png", "content_type": "image/png", "size": 1}
            file |= {"url": "https://cdn.example/a.png", "proxy_url": "", "description": "a cat"}
            await platform.deliver(
                "MESSAGE_CREATE", platform.message(third, BEN, "", attachments=[file], **nick)
            )
            await platform.deliver("MESSAGE_CREATE", platform.message(fourth, BEN, "oh", **nick))
            await stage.until_stored(CHANNEL, fourth)
            gone = {"id": fourth, "channel_id": "20", "guild_id": GUILD}
            await platform.deliver("MESSAGE_DELETE", gone)
            direct = platform.message(first, BEN, "hello cat", channel_id="30", channel_type=1)
            del direct["guild_id"]
            await platform.deliver("MESSAGE_CREATE", direct)
            await stage.until_stored(DIRECT, snowflake(60_002))
            lines = await stage.until(CHANNEL, lambda lines: "recalled" in lines[-1])
            lines = await stage.until(CHANNEL, lambda lines: lines[0].get("revision") == 1)
    own = {"id": snowflake(60_001), "author": "900", "name": "Cat", "text": "At nine."}
    file = {"kind": "image", "alt_text": "a cat", "uri": "https://cdn.example/a.png"}
    assert lines == [
        {
            "id": first,
            "author": "2",
            "name": "Benny",
            "text": "at ten",
            "sent_at_ms": BEGAN_MS + 1,
            "revision": 1,
        },
        {
            "id": second,
            "author": "1",
            "name": "Ann",
            "text": "<@900> when is dinner?",
            "sent_at_ms": BEGAN_MS + 2,
            "reply_to": first,
            "reply_kind": "quote",
            "mentions": ["900"],
        },
        own
        | {
            "sent_at_ms": BEGAN_MS + 60_001,
            "reply_to": second,
            "reply_kind": "quote",
            "is_own": True,
        },
        {
            "id": third,
            "author": "2",
            "name": "Benny",
            "media": [file | {"mime": "image/png"}],
            "sent_at_ms": BEGAN_MS + 3,
        },
        {
            "id": fourth,
            "author": "2",
            "name": "Benny",
            "sent_at_ms": BEGAN_MS + 4,
            "recalled": True,
        },
    ]
    assert len(platform.sent) == 2
    [[_, *asked], _] = stage.model.asked
    assert [one["content"] for one in asked] == [
        "Benny <2>: the cat eats at nine",
        "Ann <1>: @Cat when is dinner?",
    ]


# --- what discord.py hands over, without discord.py ------------------------------------------------


def event(**more):
    return plain(discord.event_of(discord_message(**more), ME))


def test_what_is_for_the_bot():
    cat = SimpleNamespace(id=900, display_name="Cat")
    bot = SimpleNamespace(id=3, name="news", display_name="News", bot=True)
    assert "is_for_bot" not in event()
    assert event(guild=None)["is_for_bot"]
    assert event(role_mentions=["cat-role"])["is_for_bot"]
    assert event(content="<@!900> hi", mentions=[cat])["is_for_bot"]
    assert "is_for_bot" not in event(content="hi", mentions=[cat])  # the ping of a reply to another
    assert "is_for_bot" not in event(content="<@900>", mentions=[cat], author=bot)


def test_replies_and_forwarded_messages():
    to = SimpleNamespace(message_id=6, resolved=SimpleNamespace(author=SimpleNamespace(id=900)))
    reply = {"type": SimpleNamespace(name="reply"), "reference": to}
    assert event(**reply)["said"]["reply"] == {"to": "6", "kind": "quote", "user": "900"}
    assert event(**reply)["is_for_bot"]
    gone = SimpleNamespace(message_id=6, resolved=None)
    assert event(**reply | {"reference": gone})["said"]["reply"]["user"] == ""
    shot = SimpleNamespace(content="at nine")
    forwarded = event(content="", reference=to, message_snapshots=[shot])
    assert forwarded["said"]["text"] == "at nine"
    assert "reply" not in forwarded["said"]


def test_media_of_every_kind():
    kind = {"content_type": None, "description": None, "filename": "menu.pdf", "url": "u1"}
    poll = SimpleNamespace(question="Fish?")
    sticker = SimpleNamespace(name="purr", url="u2")
    said = event(attachments=[SimpleNamespace(**kind)], stickers=[sticker], poll=poll)["said"]
    assert said["media"] == [
        {"kind": "file", "alt": "menu.pdf", "uri": "u1"},
        {"kind": "sticker", "alt": "purr", "uri": "u2"},
        {"kind": "poll", "alt": "Fish?"},
    ]
    card = SimpleNamespace(title="News", description="fish is cheap", url=None)
    bot = SimpleNamespace(id=3, name="news", display_name="News", bot=True)
    assert event(content="", embeds=[card], author=bot)["said"]["media"][0]["kind"] == "embed"
    assert "media" not in event(embeds=[card])["said"]  # the preview of a link


def test_lines_of_the_platform_and_empty_messages_are_nothing():
    assert event(type=SimpleNamespace(name="new_member")) is None
    assert event(content="") is None


def test_an_edit_and_a_link_that_got_its_preview():
    def edit(**more):
        changed = SimpleNamespace(message=discord_message(content="ho", **more), data={})
        return plain(discord.event_of(changed, ME))

    assert edit(edited_at=BEGAN_MS + 9)["edited"]["text"] == "ho"
    assert edit() is None


def test_what_lacks_something_is_nothing_and_raises_nothing(caplog):
    for name in vars(discord_message()):
        lacking = discord_message()
        delattr(lacking, name)
        discord.event_of(lacking, ME)
    assert event(id=None) is None
    assert event(content=7) is None
    assert event(created_at="soon") is None
    assert event(author=None) is None
    assert plain(discord.event_of(object(), ME)) is None
    assert "backscroll.adapters.discord: an event could not be read" in caplog.text


def test_many_are_deleted_at_once():
    many = SimpleNamespace(message_ids={9, 8}, channel_id=20)
    assert plain(discord.event_of(many, ME)) == {"recalled": ["8", "9"], "channel": "discord:20"}
