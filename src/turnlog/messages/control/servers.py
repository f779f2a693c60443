"""What a host and Claude Code say to each other about MCP servers.

A server may run inside the host: then `mcp_message` carries its JSON-RPC messages, in both directions.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, OpenEnum, Raw, Snake, UnsetType, field
from turnlog.messages.control.base import CamelRequest, SnakeRequest
from turnlog.messages.options import McpServerConfig
from turnlog.messages.tool_io.mcp import McpResourceContents


class McpMessageRequest(SnakeRequest, tag="mcp_message"):
    """One JSON-RPC message for, or from, a server that runs in the host."""

    server_name: str
    message: Raw


class McpMessageReply(Snake):
    """What the server answered: a JSON-RPC message; nothing to a notification."""

    mcp_response: Raw | UnsetType = UNSET


class McpSetServersRequest(SnakeRequest, tag="mcp_set_servers"):
    """Put these servers in place of all that were added while running."""

    servers: dict[str, McpServerConfig]


class McpSetServersReply(Snake):
    """Which servers came, went, or failed."""

    added: tuple[str, ...] | UnsetType = UNSET
    removed: tuple[str, ...] | UnsetType = UNSET
    errors: dict[str, str] | UnsetType = UNSET


class McpStatusRequest(CamelRequest, tag="mcp_status"):
    """Return the state of all servers."""

    live_reply: bool | UnsetType = UNSET


class McpConnection(OpenEnum):
    """How a server is doing."""

    CONNECTED = "connected"
    FAILED = "failed"
    NEEDS_AUTH = "needs-auth"
    PENDING = "pending"
    DISABLED = "disabled"


class McpImplementation(Camel):
    """What a server calls itself."""

    name: str
    version: str | UnsetType = UNSET


class McpToolHints(Camel):
    """What a tool says about its own effects."""

    read_only: bool | UnsetType = UNSET
    destructive: bool | UnsetType = UNSET
    open_world: bool | UnsetType = UNSET


class McpServerTool(Camel):
    """A tool that a server offers."""

    name: str
    description: str | UnsetType = UNSET
    annotations: McpToolHints | None | UnsetType = UNSET
    meta: dict[str, Raw] | None | UnsetType = field(name="_meta", default=UNSET)


class McpServerStatus(Camel):
    """The state of one server."""

    name: str
    status: McpConnection
    server_info: McpImplementation | None | UnsetType = UNSET
    error: str | None | UnsetType = UNSET
    config: McpServerConfig | None | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    tools: tuple[McpServerTool, ...] | UnsetType = UNSET


class McpStatusReply(Camel):
    """The state of all servers."""

    mcp_servers: tuple[McpServerStatus, ...]


class McpReconnectRequest(CamelRequest, tag="mcp_reconnect"):
    """Connect to a server again."""

    server_name: str


class McpToggleRequest(CamelRequest, tag="mcp_toggle"):
    """Turn a server on or off."""

    server_name: str
    enabled: bool


class LaneInput(Snake):
    """A file that a tool is given."""

    name: str
    lane_path: str


class LaneOutput(Snake):
    """A file that a tool is to write."""

    name: str
    lane_path: str
    if_match: str | UnsetType = UNSET


class McpCallRequest(SnakeRequest, tag="mcp_call"):
    """Call a server's tool, without the model."""

    tool: str
    """The full name, beginning with `mcp__`."""
    arguments: dict[str, Raw] | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    """The deadline; needed where files are written."""
    timeout_ms: int | UnsetType = UNSET
    """Between 1000 and 600000; 120000 if not given."""
    result_not_for_model: bool | UnsetType = UNSET
    check_permissions: bool | UnsetType = UNSET
    input_files: tuple[LaneInput, ...] | UnsetType = UNSET
    output_files: tuple[LaneOutput, ...] | UnsetType = UNSET


class McpReadResourceRequest(CamelRequest, tag="mcp_read_resource"):
    """Read a server's `ui://` resource."""

    server_name: str
    uri: str


class McpReadResourceReply(Camel):
    """A resource's contents."""

    contents: tuple[McpResourceContents, ...]
