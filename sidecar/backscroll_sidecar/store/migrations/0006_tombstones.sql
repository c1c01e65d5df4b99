-- Costs nothing, however many rows: a column with a constant default.
-- Whether a message went because its whole channel was erased: such a one may be imported again on purpose.
ALTER TABLE tombstones ADD COLUMN with_channel INTEGER NOT NULL DEFAULT 0;
