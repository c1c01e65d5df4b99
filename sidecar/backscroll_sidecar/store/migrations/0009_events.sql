-- Events are read in the order in which they were recorded, whatever time they tell: a page never misses one that came
-- late. A number is given once, also after an erasure: a cursor stays right. Some seconds on a million events, nothing
-- on messages.

ALTER TABLE events RENAME TO old_events;

CREATE TABLE events (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,  -- order of arrival
    tenant     TEXT NOT NULL,
    channel    TEXT NOT NULL,
    context_id TEXT NOT NULL,               -- '': of no context, e.g. an edit
    id         TEXT NOT NULL,
    parent_id  TEXT NOT NULL,
    type       TEXT NOT NULL,
    level      TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    message_id TEXT NOT NULL,               -- of message.edited and message.recalled; '': none
    payload    TEXT NOT NULL                -- JSON object
) STRICT;

INSERT INTO events SELECT * FROM old_events ORDER BY number;
DROP TABLE old_events;

CREATE UNIQUE INDEX events_by_id ON events (tenant, channel, context_id, id);
CREATE INDEX events_by_arrival ON events (tenant, channel, number);
CREATE INDEX events_by_message ON events (tenant, channel, message_id) WHERE message_id <> '';
