"""History in a PostgreSQL database that any number of servers share. `PostgresStore.open` opens it."""

from backscroll_sidecar.store.postgres.examine import findings
from backscroll_sidecar.store.postgres.store import PostgresStore

__all__ = ["PostgresStore", "findings"]
