"""A store on a PostgreSQL server: any number of processes on any number of machines write to it at once."""

from turnlog.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
