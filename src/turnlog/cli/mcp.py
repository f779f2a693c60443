"""`turnlog mcp`: the archive for other programs, over the Model Context Protocol."""

from __future__ import annotations

import click

from turnlog.cli.stores import open_for
from turnlog.cli.terminal import MisuseError
from turnlog.config import Settings
from turnlog.server.security.tokens import TOKEN_FILE, TokenKeeper
from turnlog.store.model import LOCAL


@click.command(
    "mcp",
    epilog="""\b
Examples:
  claude mcp add turnlog -- turnlog mcp
  turnlog mcp --http --port 8790
""",
)
@click.option("--http", "over_http", is_flag=True, help="Answer over HTTP, at /mcp.  [default: standard input]")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: where to listen.")
@click.option("--port", type=click.IntRange(1, 65535), default=8790, show_default=True, help="With --http.")
def mcp_command(over_http: bool, host: str, port: int) -> None:
    """Let other programs read the archive over MCP.

    They can search, read conversations piece by piece, list projects and sessions, count usage, and ask what
    earlier sessions did to a file. Nothing can be changed, and the size of every answer is limited. Over
    HTTP, requests need the token from `server-token` in turnlog's directory.
    """
    try:
        from turnlog.integrations.mcp.server import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types", "starlette"):
            raise
        raise MisuseError("the package mcp is needed: pip install 'turnlog[mcp]'") from error
    settings = Settings.from_env()
    with open_for(settings) as store:
        if over_http:
            click.echo(f"http://{host}:{port}/mcp (token in {settings.home / TOKEN_FILE})", err=True)
            serve_http(store, LOCAL, TokenKeeper(settings.home / TOKEN_FILE), host, port)
        else:
            serve_stdio(store, LOCAL)
