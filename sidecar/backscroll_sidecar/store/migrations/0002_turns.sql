-- Turns of StreamChat that wait for the results of tools, and what a turn that ended answered. `body` is the chat's own.
-- Bodies are large, so the table has row numbers. They hold texts of the channel as they were: an erasure deletes them.
-- An id names one turn of the tenant, whatever its channel: a bot continues a turn by its id alone.
-- From here on messages.state may be 2 as well: partial, a reply that broke off.

CREATE TABLE turns (
    tenant        TEXT NOT NULL,
    turn_id       TEXT NOT NULL,
    channel       TEXT NOT NULL,
    body          BLOB NOT NULL,
    expires_at_ms INTEGER NOT NULL,         -- from then on it is not read any more
    PRIMARY KEY (tenant, turn_id)
) STRICT;

CREATE INDEX turns_by_expiry ON turns (tenant, expires_at_ms, turn_id);
CREATE INDEX turns_by_channel ON turns (tenant, channel);
