-- Spreads a history over the machines of a Citus cluster, each tenant whole on one of them. Run it once, on the
-- coordinator, after the first start of a server, which makes the tables:
--
--   psql --single-transaction --set ON_ERROR_STOP=1 --file deploy/citus/distribute.sql "$BACKSCROLL_DATABASE"
--
-- Every key begins with the tenant and every statement names one, so each statement asks one machine. All tables are spread
-- alike, and each comes before those that refer to it.
-- `moves`, which each call reads, is on every machine. Three tables stay on the coordinator, to which all servers connect:
-- `leases`, since Citus lets no writing statement read the clock; `schema_migrations`, which a start reads; and `moved_keys`
-- of `backscroll migrate`, which runs before this.

SELECT create_distributed_table('channels', 'tenant', colocate_with => 'none');
SELECT create_distributed_table('channel_changes', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('losses', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('lineages', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('unfinished', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('messages', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('revisions', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('vectors', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('tombstones', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('members', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('aliases', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('events', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('segments', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('records', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('record_names', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('usage_records', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('signals', 'tenant', colocate_with => 'channels');
SELECT create_reference_table('moves');
