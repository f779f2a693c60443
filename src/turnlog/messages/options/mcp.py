"""How to reach an MCP server.

One class holds the fields of all transports, as in spec 001. A tagged union would be the usual form, but a
stdio server may leave out its `type`, and a union cannot hold tagged structs beside an untagged one. With one
class these objects decode wherever they stand, and nothing needs a decoder of its own. What belongs to which
transport is told by `TRANSPORT_FIELDS`, and `validation` looks after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Snake, TypeEnum, UnsetType


class McpTransport(TypeEnum):
    """How an MCP server is spoken to."""

    STDIO = "stdio"
    SSE = "sse"
    HTTP = "http"
    SDK = "sdk"
    CLAUDEAI_PROXY = "claudeai-proxy"
    """Occurs where a server's status is told, never in options."""


class McpToolPermission(OpenEnum):
    """What is done when a server's tool is called."""

    ALWAYS_ALLOW = "always_allow"
    ALWAYS_ASK = "always_ask"
    ALWAYS_DENY = "always_deny"


class McpOrgPermission(OpenEnum):
    """The most that an organisation lets a server's tool do."""

    ALLOW = "allow"
    ASK = "ask"
    BLOCKED = "blocked"


class McpServerToolPolicy(Snake):
    """What one tool of a server may do."""

    name: str
    permission_policy: McpToolPermission | UnsetType = UNSET
    org_max_permission: McpOrgPermission | UnsetType = UNSET


class McpServerConfig(Camel):
    """How to reach one MCP server, by any transport."""

    type: McpTransport | UnsetType = UNSET
    """Absent means stdio; `transport` says so."""
    command: str | UnsetType = UNSET
    args: tuple[str, ...] | UnsetType = UNSET
    env: dict[str, str] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    name: str | UnsetType = UNSET
    """The name of a server that runs inside the host's own process."""
    id: str | UnsetType = UNSET
    tools: tuple[McpServerToolPolicy, ...] | UnsetType = UNSET
    timeout: Number | UnsetType = UNSET
    always_load: bool | UnsetType = UNSET

    @property
    def transport(self) -> McpTransport:
        """How the server is spoken to, said or implied."""
        return McpTransport.STDIO if self.type is UNSET else self.type


_REMOTE: Mapping[str, bool] = MappingProxyType(
    {"url": True, "headers": False, "tools": False, "timeout": False, "always_load": False}
)

TRANSPORT_FIELDS: Mapping[McpTransport, Mapping[str, bool]] = MappingProxyType(
    {
        McpTransport.STDIO: MappingProxyType(
            {"command": True, "args": False, "env": False, "timeout": False, "always_load": False}
        ),
        McpTransport.SSE: _REMOTE,
        McpTransport.HTTP: _REMOTE,
        McpTransport.SDK: MappingProxyType({"name": True, "timeout": False, "tools": False}),
        McpTransport.CLAUDEAI_PROXY: MappingProxyType({"url": True, "id": True, "timeout": False}),
    }
)
"""The fields of each transport beside `type`, and whether it needs them."""
