-- What belongs to a channel, to a person or to nobody and is no message. `body` is whoever kept it's own.

CREATE TABLE records (
    tenant        text COLLATE "C" NOT NULL,
    channel       text COLLATE "C" NOT NULL,
    number        bigint GENERATED ALWAYS AS IDENTITY, -- order of creation
    kind          text COLLATE "C" NOT NULL,
    owner         text COLLATE "C" NOT NULL, -- whose it is, '': nobody's; an id names one record of its owner
    id            text COLLATE "C" NOT NULL,
    body          bytea NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,          -- from then on it is not read any more; 0: never
    version       bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (tenant, channel, number)
);

CREATE UNIQUE INDEX records_by_id ON records (tenant, channel, kind, owner, id);
CREATE INDEX records_by_creation ON records (tenant, channel, kind, number);
CREATE INDEX records_by_owner ON records (tenant, kind, owner, channel, number);
CREATE INDEX records_by_update ON records (tenant, kind, updated_at_ms, number);
CREATE INDEX records_by_expiry ON records (tenant, expires_at_ms, number) WHERE expires_at_ms > 0;

-- What a record is about: 'm:' and a message's id, 'u:' and a user's. It goes with the first of them that goes.
CREATE TABLE record_names (
    tenant  text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    number  bigint NOT NULL,
    name    text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, channel, number, name),
    FOREIGN KEY (tenant, channel, number) REFERENCES records (tenant, channel, number) ON DELETE CASCADE
);
CREATE INDEX records_by_name ON record_names (tenant, channel, name);
