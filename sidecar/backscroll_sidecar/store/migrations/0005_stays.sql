-- What the platform calls a member, and the times before the last one that somebody was there. Costs nothing on a million
-- messages: the columns are added without touching a row.

ALTER TABLE members ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN earlier_stays TEXT;   -- JSON array of [joined_at_ms, left_at_ms]; NULL: none
