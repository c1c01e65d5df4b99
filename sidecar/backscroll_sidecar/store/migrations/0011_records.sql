-- Turns are records: found by their owner, which is their own id. They go with whatever is erased of their channel, and
-- with the retraction of a message whose text they hold: its id stands in the body. There are a handful of turns.

INSERT INTO records (tenant, channel, kind, owner, id, body, created_at_ms, updated_at_ms, expires_at_ms)
SELECT tenant, channel, 'turn', turn_id, '', body, 0, 0, max(expires_at_ms, 1) FROM turns;

INSERT INTO record_names (tenant, channel, number, name)
SELECT tenant, channel, number, '*' FROM records WHERE kind = 'turn';

INSERT OR IGNORE INTO record_names (tenant, channel, number, name)
SELECT tenant, channel, number, 'm:' || held.atom
FROM records CROSS JOIN json_tree(iif(json_valid(CAST(body AS TEXT)), CAST(body AS TEXT), '[]')) AS held
WHERE kind = 'turn' AND held.type = 'text' AND (held.key = 'question_message_id' OR held.path LIKE '%message_ids%');

DROP TABLE turns;

-- So is what is known of the files of vector indexes. It goes with whatever is erased or retracted in its channel.

INSERT INTO records (tenant, channel, kind, owner, id, body, created_at_ms, updated_at_ms, expires_at_ms)
SELECT tenant, channel, 'vector_index', embedder_id, '', CAST(json_array(dims, row_count, sha256) AS BLOB), 0, 0, 0
FROM vector_indexes;

INSERT INTO record_names (tenant, channel, number, name)
SELECT tenant, channel, number, column1 FROM records CROSS JOIN (VALUES ('*'), ('-')) WHERE kind = 'vector_index';

DROP TABLE vector_indexes;
