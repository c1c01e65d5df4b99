"""While servers are replaced one by one: those of the release before go on, and none begins behind the newer schema."""

import pytest

from backscroll import Message
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.postgres import migrate
from tests.kit.postgres import server
from tests.kit.served import served

pytestmark = pytest.mark.row("P-22")
NOON_MS = 1_700_000_000_000
NEXT = migrate.known()[-1].number + 1
OF_THE_NEXT_RELEASE = f"""
ALTER TABLE messages ADD COLUMN later text;
ALTER TABLE channels ADD COLUMN later bigint NOT NULL DEFAULT 0;
CREATE TABLE later (tenant text NOT NULL, number bigint NOT NULL, PRIMARY KEY (tenant, number));
CREATE INDEX messages_later ON messages (tenant, channel, later);
INSERT INTO schema_migrations (number, name) VALUES ({NEXT}, 'later');
"""


async def test_a_server_goes_on_behind_a_migration_of_the_next_release() -> None:
    url = server().new_database()
    async with served(url) as (client, _):
        await client.append("room", [Message("m1", "ann", "who feeds the cat?", NOON_MS)])
        before = await client.build_context("room", "and the cat?", profile="naive")
        server().psql(url, OF_THE_NEXT_RELEASE)
        await client.append("room", [Message("m2", "ben", "I do, at nine", NOON_MS + 1)])
        await client.edit_message("room", "m1", "who feeds both cats?")
        built = await client.build_context("room", "and the cat?", profile="naive")
        assert len(built.messages) == len(before.messages) + 1
        assert [one.message.id async for one in client.list_messages("room")] == ["m1", "m2"]
        await client.erase("room", message_ids=["m1"])
        with pytest.raises(StoreUnavailable, match=f"schema {NEXT}.*newer version"):
            async with served(url):
                pass
        await client.append("room", [Message("m3", "ann", "good", NOON_MS + 2)])
