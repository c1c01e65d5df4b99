"""TLS and keys in front of Chat Completions, on real sockets: who is not let in, and what a limited key may name."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from backscroll_sidecar.edge.listeners import TlsFiles
from tests.integration.http.test_completions import World, world
from tests.kit.certificates import certificate_of_own
from tests.kit.fake_vendor import whole

pytestmark = [pytest.mark.row("S5-48"), pytest.mark.row("S5-45")]

OWN, FOREIGN, SECRET = "guild-1/a", "guild-2/b", "the vault opens at midnight"
TOKENS: dict[str, object] = {
    "full": "acme",
    "limited": {"tenant": "acme", "channels": ["guild-1/*"]},
    "reads": {"tenant": "acme", "rights": ["read"]},
    "expired": {"tenant": "acme", "expires": datetime(2001, 1, 1, tzinfo=UTC)},
}
PATH = "/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "when does the vault open?"}]}


@asynccontextmanager
async def guilds(key: str = "full", **options: Any) -> AsyncIterator[World]:
    """Two channels of one tenant; in the foreign one there is a secret."""
    async with world(
        answer=lambda _: whole({"content": "hi"}), tokens=TOKENS, key=key, **options
    ) as one:
        for channel in (OWN, FOREIGN):
            said = {"id": "m1", "author": {"id": "u1"}, "parts": [{"text": {"text": SECRET}}]}
            body = {"channel": channel, "messages": [said]}
            headers = {"authorization": "Bearer full"}
            done = await one.served.call("HistoryService/AppendMessages", body, **headers)
            assert done.status_code == 200, done.text
        yield one


def naming(channel: str) -> list[tuple[Mapping[str, str], Mapping[str, Any], bool]]:
    """Every way to name a channel: headers, more of the body, and whether it is named to us."""
    return [
        ({"X-Backscroll-Channel": channel}, {}, True),
        ({}, {"metadata": {"backscroll": {"channel": channel}}}, True),
        ({}, {"metadata": {"backscroll": json.dumps({"channel": channel})}}, True),
        ({}, {"metadata": {"backscroll_channel": channel}}, True),
        ({"X-OpenWebUI-Chat-Id": channel}, {}, False),
        ({"x-litellm-session-id": channel}, {}, False),
        ({"x-session-id": channel}, {}, False),
    ]


@pytest.mark.parametrize("at", range(7))
async def test_a_limited_key_gets_nothing_of_another_channel_however_it_names_it(at: int) -> None:
    async with guilds("limited") as one:
        headers, more, is_explicit = naming(FOREIGN)[at]
        bearer = {"authorization": "Bearer limited"}
        answer = await one.http.post(PATH, json={**BODY, **more}, headers={**bearer, **headers})
        if is_explicit:
            assert (answer.status_code, answer.json()["error"]["type"]) == (403, "permission_error")
            assert not one.vendor.sent
        else:  # headers of others come unasked: the request is passed on as it is
            told = answer.headers["x-backscroll-context"]
            assert (answer.status_code, told) == (200, "none; reason=channel_not_permitted")
        never = naming("guild-9/none")[at]
        unknown = await one.http.post(
            PATH, json={**BODY, **never[1]}, headers={**bearer, **never[0]}
        )
        assert (unknown.status_code, unknown.text) == (answer.status_code, answer.text)
        headers, more, _ = naming(OWN)[at]
        await one.http.post(PATH, json={**BODY, **more}, headers={**bearer, **headers})
        assert SECRET in one.vendor.sent[-1].raw.decode()
        assert all(SECRET not in sent.raw.decode() for sent in one.vendor.sent[:-1])
        rows = {"channel": FOREIGN, "limit": 10}
        listed = await one.served.call(
            "HistoryService/ListMessages", rows, authorization="Bearer full"
        )
        assert len(listed.json()["messages"]) == 1


async def test_a_limited_key_is_not_helped_by_a_second_name() -> None:
    """The first place that names a channel counts, whatever the others say."""
    async with guilds("limited") as one:
        bearer = {"authorization": "Bearer limited"}
        for headers, more, _ in naming(OWN)[1:]:
            both = {**bearer, **headers, "X-Backscroll-Channel": FOREIGN}
            answer = await one.http.post(PATH, json={**BODY, **more}, headers=both)
            assert answer.status_code == 403
        for headers, more, _ in naming(FOREIGN)[1:]:
            both = {**bearer, **headers, "X-Backscroll-Channel": OWN}
            answer = await one.http.post(PATH, json={**BODY, **more}, headers=both)
            assert answer.status_code == 200
        rows = {"channel": FOREIGN, "limit": 10}
        listed = await one.served.call(
            "HistoryService/ListMessages", rows, authorization="Bearer full"
        )
        assert len(listed.json()["messages"]) == 1


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("expired", openai.AuthenticationError),
        ("never-given", openai.AuthenticationError),
        ("reads", openai.PermissionDeniedError),
    ],
)
async def test_who_has_no_key_or_not_the_right_is_told_so_and_no_vendor_is_asked(
    key: str, kind: type[openai.APIStatusError]
) -> None:
    async with guilds(key) as one:
        for headers in ({}, {"X-Backscroll-Channel": OWN}):
            with pytest.raises(kind):
                await one.ask(headers=headers)
            with pytest.raises(kind):
                await one.ask(headers=headers, stream=True)
        with pytest.raises(kind):
            await one.ai.models.list()
        assert not one.vendor.sent


async def test_a_key_that_is_revoked_while_the_server_runs_opens_nothing_more() -> None:
    async with guilds("limited") as one:
        await one.ask(headers={"X-Backscroll-Channel": OWN})
        one.served.server.use_tokens({"full": "acme"})
        with pytest.raises(openai.AuthenticationError):
            await one.ask(headers={"X-Backscroll-Channel": OWN})
        assert len(one.vendor.sent) == 1


def trusting(cert: Path | None) -> httpx2.AsyncClient:
    context = ssl.create_default_context(cafile=None if cert is None else str(cert))
    return httpx2.AsyncClient(verify=context, trust_env=False, timeout=20.0)


async def test_tls_is_answered_to_who_trusts_its_authority_and_to_nobody_else(
    tmp_path: Path,
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
    tls = certificate_of_own(mine)
    others = certificate_of_own(other)
    async with world(
        answer=lambda _: whole({"content": "hi"}), tokens={"t": "one"}, key="t", tls=tls
    ) as one:
        url = one.served.url
        assert url.startswith("https://")
        async with trusting(Path(tls.cert)) as http:
            ai = openai.AsyncOpenAI(base_url=url + "/v1", api_key="t", http_client=http)
            said = {"model": "m", "messages": [{"role": "user", "content": "hi?"}]}
            answer = await ai.chat.completions.create(**said)
            assert answer.choices[0].message.content == "hi"
        for cert in (Path(others.cert), None):
            async with trusting(cert) as http:
                with pytest.raises(httpx2.ConnectError, match=r"(?i)certificate"):
                    await http.post(url + PATH, json=BODY)
        host, _, port = url.removeprefix("https://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        heard = await reader.read()  # plain HTTP gets no answer of ours, and the connection ends
        assert b"HTTP/1.1 200" not in heard
        assert b"SERVING" not in heard
        writer.close()
        async with trusting(Path(tls.cert)) as http:
            assert (await http.get(url + "/healthz")).status_code == 200
        assert len(one.vendor.sent) == 1


async def test_where_clients_prove_themselves_by_certificate_none_comes_in_without(
    tmp_path: Path,
) -> None:
    tls = certificate_of_own(tmp_path)
    both = TlsFiles(tls.cert, tls.key, client_ca=tls.cert)
    async with world(
        answer=lambda _: whole({"content": "hi"}), tokens={"t": "one"}, key="t", tls=both
    ) as one:
        url = one.served.url
        async with trusting(Path(tls.cert)) as http:
            with pytest.raises(httpx2.TransportError):
                await http.get(url + "/healthz")
        context = ssl.create_default_context(cafile=str(tls.cert))
        context.load_cert_chain(tls.cert, tls.key)
        async with httpx2.AsyncClient(verify=context, trust_env=False) as http:
            answer = await http.post(url + PATH, json=BODY, headers={"authorization": "Bearer t"})
            assert answer.status_code == 200
