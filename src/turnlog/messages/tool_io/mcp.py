"""Tools of MCP servers, and the built-in tools that look after those servers.

What a server's own tool takes and gives is up to the server. A result comes as text, as content blocks in the
API's spelling, as content items in the protocol's own spelling, or as an object of any shape.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import (
    UNSET,
    Camel,
    Number,
    Open,
    OpenEnum,
    Raw,
    Snake,
    UnknownBlock,
    UnsetType,
    field,
)
from turnlog.messages.blocks import ContentBlock

McpInput = dict[str, Raw]
"""The arguments of a server's tool, which only its own JSON Schema describes."""

McpContent = tuple[ContentBlock, ...]
"""A result as content blocks."""

McpObject = dict[str, Raw]
"""A result as a structured object, which only the tool's output schema describes."""


class McpAnnotations(Camel):
    """For whom a content item is, and how much it matters."""

    audience: tuple[str, ...] | UnsetType = UNSET
    priority: Number | UnsetType = UNSET
    last_modified: str | UnsetType = UNSET


class McpItemBase(Camel, tag_field="type"):
    """What every content item of the protocol has: a type and perhaps notes."""

    type: ClassVar[str]
    annotations: McpAnnotations | None | UnsetType = UNSET
    meta: dict[str, Raw] | None | UnsetType = field(name="_meta", default=UNSET)


class McpText(McpItemBase, tag="text"):
    """Text, as the protocol spells it."""

    text: str


class McpImage(McpItemBase, tag="image"):
    """A picture, as the protocol spells it."""

    data: str
    mime_type: str | UnsetType = UNSET


class McpAudio(McpItemBase, tag="audio"):
    """Sound, as the protocol spells it."""

    data: str
    mime_type: str | UnsetType = UNSET


class McpResourceContents(Camel):
    """The contents of a resource: text, or a blob that may have been saved to a file."""

    uri: str
    mime_type: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET
    blob_saved_to: str | UnsetType = UNSET
    meta: dict[str, Raw] | None | UnsetType = field(name="_meta", default=UNSET)


class McpEmbeddedResource(McpItemBase, tag="resource"):
    """A resource with its contents."""

    resource: McpResourceContents


class McpResourceLink(McpItemBase, tag="resource_link"):
    """A resource that can be read."""

    uri: str
    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET


McpItem = Open[McpText | McpImage | McpAudio | McpEmbeddedResource | McpResourceLink, UnknownBlock]

McpItems = tuple[McpItem, ...]
"""A result as content items of the protocol."""


class ListMcpResourcesInput(Snake):
    """A server whose resources to list, or none for all servers."""

    server: str | UnsetType = UNSET


class McpResource(Camel):
    """A resource that a server offers."""

    uri: str
    server: str
    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


ListMcpResourcesResult = tuple[McpResource, ...]


class ReadMcpResourceInput(Snake):
    """A resource to read."""

    server: str
    uri: str


class ReadMcpResourceResult(Camel):
    """A resource's contents."""

    contents: tuple[McpResourceContents, ...]
    error: str | UnsetType = UNSET


class ReadMcpResourceDirInput(Snake):
    """A folder of resources to list."""

    server: str
    uri: str


class McpResourceEntry(Camel):
    """A resource in a folder."""

    uri: str
    name: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET


class ReadMcpResourceDirResult(Camel):
    """A folder of resources."""

    resources: tuple[McpResourceEntry, ...]
    error: str | UnsetType = UNSET


class RefreshMcpToolsInput(Snake):
    """A server whose tools to ask for again, or none for all servers."""

    server: str | UnsetType = UNSET


class RefreshStatus(OpenEnum):
    """How asking a server again went."""

    REFRESHED = "refreshed"
    ERROR = "error"
    NOT_CONNECTED = "not_connected"


class RefreshedServer(Camel):
    """A server that was asked for its tools again."""

    server: str
    status: RefreshStatus
    tool_count: int | UnsetType = UNSET
    added: tuple[str, ...] | UnsetType = UNSET
    removed: tuple[str, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET


RefreshMcpToolsResult = tuple[RefreshedServer, ...]


class WaitForMcpServersInput(Snake):
    """Servers to wait for, or none for all that are still connecting."""

    servers: tuple[str, ...] | UnsetType = UNSET
