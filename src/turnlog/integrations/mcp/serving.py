"""The tools over MCP: on standard input and output, or over HTTP for whoever has the token."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from turnlog.integrations.mcp.answers import NOTICE
from turnlog.integrations.mcp.tools import ArchiveTools
from turnlog.server.asgi import App, Receive, Scope, Send
from turnlog.server.security.tokens import TokenKeeper
from turnlog.store.interface import Store
from turnlog.store.model import Scope as Visible

_READ_ONLY = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_INSTRUCTIONS = f"What earlier Claude Code sessions said and did. {NOTICE}"


def build_server(store: Store, scope: Visible) -> MCPServer:
    """Return a server whose tools ask the store."""
    server = MCPServer("turnlog", instructions=_INSTRUCTIONS, version=version("turnlog"), log_level="WARNING")
    tools = ArchiveTools(store, scope)
    asked: tuple[Callable[..., str], ...] = (
        tools.search,
        tools.file_history,
        tools.list_projects,
        tools.list_sessions,
        tools.read_conversation,
        tools.usage,
    )
    for tool in asked:
        server.add_tool(tool, annotations=_READ_ONLY, structured_output=False)
    return server


def serve_stdio(store: Store, scope: Visible) -> None:
    """Answer on standard input and output until the other side is gone."""
    build_server(store, scope).run("stdio")


def serve_http(store: Store, scope: Visible, keeper: TokenKeeper, host: str, port: int) -> None:
    """Answer over HTTP at `/mcp` until a signal comes; whoever asks needs the token."""
    app: Any = build_server(store, scope).streamable_http_app(
        host=host, stateless_http=True, json_response=True
    )
    config = uvicorn.Config(
        _TokenGate(app, keeper),
        host=host,
        port=port,
        log_level="warning",
        server_header=False,
    )
    uvicorn.Server(config).run()


class _TokenGate:
    """Lets in whoever has the token."""

    def __init__(self, app: App, keeper: TokenKeeper) -> None:
        self._app = app
        self._keeper = keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._may_enter(scope):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"The token is needed\n"})
            return
        await self._app(scope, receive, send)

    def _may_enter(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        kind, _, token = given.partition(" ")
        return kind.lower() == "bearer" and self._keeper.is_token(token.strip())
