"""`turnlog schema`: the statements that make the tables of an archive on ClickHouse."""

from __future__ import annotations

import click

from turnlog.errors import StoreError

__all__ = ["command"]


@click.command(
    "schema",
    epilog="""\b
Examples:
  turnlog schema                                      for one server
  turnlog schema --retention-days 400                 sessions go when they are that old
  turnlog schema --cluster turnlog > turnlog.sql      for all servers of a cluster
""",
)
@click.option(
    "--cluster", metavar="NAME", help="What the servers call the cluster that the tables are to be on."
)
@click.option("--database", metavar="NAME", default="turnlog", show_default=True, help="In which database.")
@click.option(
    "--retention-days", type=click.IntRange(min=1), metavar="N", help="After how many days sessions go. [never]"
)
def command(cluster: str | None, database: str, retention_days: int | None) -> None:
    """Print the statements that make an archive's tables on ClickHouse.

    turnlog makes them itself when it first opens an archive on a single server. This is for those who want to
    see them before, who make tables themselves, or who run a cluster: there each table is in shards, with
    replicas, and what the servers call `{shard}` and `{replica}` must be among their macros.
    """
    try:
        from turnlog.store.clickhouse.cluster import create_cluster, create_single  # its driver is optional
    except ModuleNotFoundError as error:
        raise StoreError(
            f"This needs {error.name}, which is not installed: pip install 'turnlog[clickhouse]'"
        ) from error
    statements = (
        create_single(database, retention_days)
        if cluster is None
        else create_cluster(cluster, database, retention_days)
    )
    for statement in statements:
        click.echo(f"{statement};\n")
