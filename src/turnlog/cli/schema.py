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
  turnlog schema --retention-days 400                 sessions are deleted when they are that old
  turnlog schema --cluster turnlog > turnlog.sql      for all servers of a cluster
""",
)
@click.option("--cluster", metavar="NAME", help="The name of the cluster on which to create the tables.")
@click.option("--database", metavar="NAME", default="turnlog", show_default=True, help="The database's name.")
@click.option(
    "--retention-days",
    type=click.IntRange(min=1),
    metavar="N",
    help="After how many days sessions are deleted. [never]",
)
def command(cluster: str | None, database: str, retention_days: int | None) -> None:
    """Print the statements that create an archive's tables on ClickHouse.

    turnlog creates them itself when it first opens an archive on a single server. This is for those who want
    to see them first, who create tables themselves, or who run a cluster: there, each table has shards and
    replicas, and the servers' macros must define `{shard}` and `{replica}`.
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
