-- Spreads a history over the machines of a Citus cluster, each tenant whole on one of them. Once, on the coordinator, behind
-- the first start of a server, which makes the tables:
--
--   psql --single-transaction --set ON_ERROR_STOP=1 --file deploy/citus/distribute.sql "$BACKSCROLL_DATABASE"
--
-- Every key begins with the tenant and every statement names one, so each statement asks one machine. All tables are spread
-- alike, and what is referred to comes before what refers to it.
-- `moves`, which each call looks into, is everywhere. Three stay on the coordinator, which all servers call: `leases`, for
-- Citus lets no statement that writes look at the clock; `schema_migrations`, which a start reads; and `moved_keys`, of a
-- migration to another database, which is done before or behind this.

SELECT create_distributed_table('channels', 'tenant', colocate_with => 'none');
SELECT create_distributed_table('channel_changes', 'tenant', colocate_with => 'channels');
SELECT create_distributed_table('losses', 'tenant', colocate_with => 'channels');
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
