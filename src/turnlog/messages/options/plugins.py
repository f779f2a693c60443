"""Plugins that are loaded for one query."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, UnknownTagged, UnsetType


class UnknownPlugin(UnknownTagged):
    """A plugin of an unknown type."""

    __slots__ = ()


class LocalPlugin(Camel, tag_field="type", tag="local"):
    """A plugin in a directory, absolute or relative."""

    type: ClassVar[str]
    path: str
    skip_mcp_discovery: bool | UnsetType = UNSET


PluginConfig = Open[LocalPlugin, UnknownPlugin]
"""A plugin; so far they are all local."""
