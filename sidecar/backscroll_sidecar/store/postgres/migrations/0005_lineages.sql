-- Which commits what servers know of a tenant is made of. PostgreSQL empties this table when it crashes, and when a standby
-- takes over: the last commits may be lost then, and versions and numbers given again. Each new row has another number.
CREATE UNLOGGED TABLE lineages (
    tenant text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL
);
