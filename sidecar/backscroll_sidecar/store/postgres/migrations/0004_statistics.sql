-- What the planner knows of tables until autovacuum has looked at them, which takes a minute: many channels, each id once.
-- Without it a look-up by id goes by whichever index begins with the channel, and reads all of a channel for each id.
-- Where there is a history already the planner looks at that. Nobody writes meanwhile, so only what is put here goes.
LOCK TABLE messages, aliases, tombstones, members IN SHARE ROW EXCLUSIVE MODE;
DO $$
DECLARE
    are_empty boolean := NOT (
        EXISTS (SELECT FROM messages) OR EXISTS (SELECT FROM aliases) OR EXISTS (SELECT FROM tombstones)
        OR EXISTS (SELECT FROM members)
    );
BEGIN
    IF are_empty THEN
        INSERT INTO messages
        SELECT '', 'c' || n % 20, n, 'm' || n, 'u' || n % 50, '', 0, 0, n, n, n, '', '', 'm' || n - 1, 0, 0, 'k' || n,
            n, n % 2, 0, 0, 0, 'words that somebody says', NULL, NULL, 0
        FROM generate_series(1, 2000) AS n;
        INSERT INTO aliases (tenant, channel, alias_id, message_id)
        SELECT '', 'c' || n % 20, 'a' || n, 'm' || n FROM generate_series(1, 2000) AS n;
        INSERT INTO tombstones
        SELECT '', 'c' || n % 20, 'm' || n, n, 'k' || n, FALSE FROM generate_series(1, 2000) AS n;
        INSERT INTO members (tenant, channel, user_id, name, kind, named_at_ms, role)
        SELECT '', 'c' || n % 20, 'u' || n % 100, '', 0, n, '' FROM generate_series(1, 2000) AS n
        ON CONFLICT DO NOTHING;
    END IF;
    ANALYZE messages, aliases, tombstones, members;
    IF are_empty THEN
        DELETE FROM messages;
        DELETE FROM aliases;
        DELETE FROM tombstones;
        DELETE FROM members;
    END IF;
END
$$;
