-- What is known of the files of vector indexes: caches beside the database, loaded only if they are the very bytes that
-- were written for it. An erasure or a recall deletes the row with the vectors, so that a file that still has them is none.

CREATE TABLE vector_indexes (
    tenant      TEXT NOT NULL,
    channel     TEXT NOT NULL,
    embedder_id TEXT NOT NULL,
    dims        INTEGER NOT NULL,
    row_count   INTEGER NOT NULL,
    sha256      TEXT NOT NULL,              -- of the file
    PRIMARY KEY (tenant, channel, embedder_id)
) STRICT, WITHOUT ROWID;
