-- Where rows stand, and under which ids. Costs nothing on a million messages: a column with a default is not written
-- into rows, and the table is new.

-- How often the rank time or the edge of a row changed since it came: a late parent, an alias.
ALTER TABLE messages ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;

-- Other ids of messages, such as the platform's of a reply that a turn stored. They go with their message; of an erased
-- one they stay as tombstones. No edge names one: what answers an alias is stored as an answer to the message.
CREATE TABLE aliases (
    number     INTEGER PRIMARY KEY,         -- order of arrival
    tenant     TEXT NOT NULL,
    channel    TEXT NOT NULL,
    alias_id   TEXT NOT NULL,
    message_id TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX aliases_by_id ON aliases (tenant, channel, alias_id);
CREATE INDEX aliases_by_message ON aliases (tenant, channel, message_id, number);
