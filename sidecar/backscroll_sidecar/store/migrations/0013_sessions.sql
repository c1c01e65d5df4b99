-- Records have versions, so that one who changes a record can say which one was read. Sessions are records: the ones that
-- got a message last are listed first. The details of a message may say for whom it is, which an older server would show to
-- everybody: it refuses the database.

ALTER TABLE records ADD COLUMN version INTEGER NOT NULL DEFAULT 1;

CREATE INDEX records_by_update ON records (tenant, kind, updated_at_ms, number);
