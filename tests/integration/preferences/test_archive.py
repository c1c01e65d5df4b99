"""A person's archive: they see, correct and delete what is known of them, within their tenant."""

import pytest

from backscroll import InvalidRequest
from tests.integration.preferences.asking import LINES, shown, stored
from tests.kit.kept import kept_bytes
from tests.kit.served import served


@pytest.mark.row("S5-45")
async def test_list_edit_and_delete_ones_own(client):
    """By topic, by channel, one or all; nobody else's is touched."""
    await client.append("room", LINES)
    first = await client.set_preference("u1", topic="likes", value="tea")
    await client.set_preference("u1", topic="language", value="German", channel="room")
    await client.set_preference("u1", "writes in lower case", channel="hall")
    await client.set_preference("u2", topic="likes", value="tea")
    assert [one[:3] for one in await stored(client)] == [
        ("", "likes", "tea"), ("hall", "", ""), ("room", "language", "de"),
    ]  # fmt: skip
    assert [one[2] for one in await stored(client, topic="likes")] == ["tea"]
    edited = await client.set_preference(
        "u1", preference_id=first.id, topic="likes", value="green tea"
    )
    assert edited.id == first.id
    assert await shown(client) == ["The user likes green tea.", "The user wants answers in German."]
    assert await client.delete_preference("u1", first.id) == 1
    assert await client.delete_preference("u1", "", all_channels=True) == 2
    assert await stored(client, include_past=True) == []
    assert await shown(client) == []
    assert [one[2] for one in await stored(client, "u2")] == ["tea"]


@pytest.mark.row("S5-45")
@pytest.mark.parametrize("fields", [{"channel": "room"}, {"preference_id": "p"}])
async def test_all_channels_stands_alone(client, fields):
    given = {"preference_id": "", **fields}
    with pytest.raises(InvalidRequest) as refused:
        await client.delete_preference("u1", all_channels=True, **given)
    assert refused.value.field == "all_channels"


@pytest.mark.row("S5-45", "N-10")
async def test_an_erasure_takes_all_of_it(tmp_path):
    """Windows, topics and values: no byte of them stays in a file."""
    database = tmp_path / "history.db"
    async with served(database) as (client, _):
        await client.append("room", LINES)
        await client.set_preference("u1", topic="place", value="Zanzibarcity")
        await client.set_preference("u1", topic="place", value="Timbuktutown", channel="room")
        assert (await client.erase("room", user_id="u1"))["preferences"] == 1
        assert len(await stored(client, include_past=True)) == 1
        assert (await client.erase(user_id="u1", all_channels=True))["preferences"] == 1
        assert await stored(client, include_past=True) == []
        await client.set_preference("u2", topic="place", value="Samarkandia", channel="room")
        await client.erase("room", whole_channel=True)
        assert await stored(client, "u2", include_past=True) == []
    files = kept_bytes(tmp_path)
    for canary in (b"Zanzibarcity", b"Timbuktutown", b"Samarkandia"):
        assert canary not in files
