-- What belongs to a channel, to a person or to nobody and is no message: pins, preferences. `body` is whoever kept it's own.
-- channel '' is of things that belong to no channel. Bodies may be large, so the table has row numbers, which are the order
-- of creation. New tables: they cost nothing on a million messages.

CREATE TABLE records (
    number        INTEGER PRIMARY KEY,
    tenant        TEXT NOT NULL,
    channel       TEXT NOT NULL,
    kind          TEXT NOT NULL,
    owner         TEXT NOT NULL,            -- whose it is, '': nobody's; an id names one record of its owner
    id            TEXT NOT NULL,
    body          BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL          -- from then on it is not read any more; 0: never
) STRICT;

CREATE UNIQUE INDEX records_by_id ON records (tenant, channel, kind, owner, id);
CREATE INDEX records_by_creation ON records (tenant, channel, kind, number);
CREATE INDEX records_by_owner ON records (tenant, kind, owner, channel, number);
CREATE INDEX records_by_expiry ON records (tenant, expires_at_ms, number) WHERE expires_at_ms > 0;

-- What a record is about: 'm:' and a message's id, 'u:' and a user's. It goes with the first of them that goes.
CREATE TABLE record_names (
    tenant  TEXT NOT NULL,
    channel TEXT NOT NULL,
    number  INTEGER NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (tenant, channel, number, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX records_by_name ON record_names (tenant, channel, name);
