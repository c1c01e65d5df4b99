-- Who was called what when, so that a message that comes late means who had a name when it was sent. Costs nothing on a
-- million messages: the column is added without touching a row.

ALTER TABLE members ADD COLUMN name_times TEXT;   -- since when `name`, or JSON array of [since_ms, name]; NULL: not known
