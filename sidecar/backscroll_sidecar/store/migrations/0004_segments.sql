-- Stretches of channels as the server keeps them in memory, so that a cold channel is read at once: a cache of `messages`
-- that may be emptied at any time. A new table: costs nothing on a million messages; it is filled as channels are read.
-- The transaction that changes or deletes a row deletes the segment that holds it.

CREATE TABLE segments (
    tenant    TEXT NOT NULL,
    channel   TEXT NOT NULL,
    format    TEXT NOT NULL,                -- of the bytes; others are not read
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    row_count INTEGER NOT NULL,             -- of messages in between, and the sums that tell whether one changed
    revisions INTEGER NOT NULL,
    recalled  INTEGER NOT NULL,
    columns   BLOB NOT NULL,
    bodies    BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX segments_by_place ON segments (tenant, channel, last_seq);
