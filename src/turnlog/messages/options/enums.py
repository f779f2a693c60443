"""The sets of words that options choose from.

Each is open: a word that a newer version brings is kept, and `validation` warns of it. `PermissionMode` is
older than options and lives in `envelope`.
"""

from __future__ import annotations

from turnlog.messages.base import OpenEnum


class SettingSource(OpenEnum):
    """A settings file that may be loaded."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


class ConfigScope(OpenEnum):
    """Whose configuration something belongs to."""

    LOCAL = "local"
    USER = "user"
    PROJECT = "project"


class EffortLevel(OpenEnum):
    """How hard the model tries."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


class Executable(OpenEnum):
    """The JavaScript runtime that runs Claude Code."""

    BUN = "bun"
    DENO = "deno"
    NODE = "node"


class SdkBeta(OpenEnum):
    """A feature of the API that is in beta."""

    CONTEXT_1M = "context-1m-2025-08-07"


class SessionStoreFlush(OpenEnum):
    """When lines are handed to the session store."""

    BATCHED = "batched"
    EAGER = "eager"


class PermissionPrompts(OpenEnum):
    """Who answers when a permission is asked for."""

    HOST = "host"
    NONE = "none"


class PluginDelivery(OpenEnum):
    """How Claude Code is told of the plugins: on its command line, or by the first request."""

    ARGV = "argv"
    INITIALIZE = "initialize"


class Preset(OpenEnum):
    """A ready-made choice of prompt or tools."""

    CLAUDE_CODE = "claude_code"
