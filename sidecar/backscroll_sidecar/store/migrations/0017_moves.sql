-- A history may move to another database while servers go on: where that stands, and which rows changed meanwhile.
-- Two empty tables: costs nothing on a million messages.

CREATE TABLE moves (
    place       INTEGER PRIMARY KEY CHECK (place = 1),
    id          TEXT NOT NULL,              -- of the migration, the same at both ends
    phase       TEXT NOT NULL,              -- of the old database: leaving, closed, left; of the new one: arriving, arrived
    other       TEXT NOT NULL,              -- the address of the other end, without its password
    began_at_ms INTEGER NOT NULL,
    progress    TEXT NOT NULL               -- JSON object: what has been copied
) STRICT;

CREATE TABLE moved_keys (
    number INTEGER PRIMARY KEY,             -- in the order of commits
    kind   TEXT NOT NULL,                   -- the table of the row
    key    TEXT NOT NULL                    -- JSON array: its key
) STRICT;
