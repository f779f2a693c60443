"""What the environment says.

Only the entry points (command line, server, integrations) read it, once, and hand it on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from turnlog.transcripts.files.locate import list_config_dirs

__all__ = ["Settings"]


class Settings(Struct, frozen=True, kw_only=True):
    """All settings that come from the environment."""

    config_dirs: tuple[Path, ...] = ()
    """Where Claude Code's own data may be (`CLAUDE_CONFIG_DIR`)."""
    color: bool | None = None
    """Whether to write colours (`NO_COLOR`, `FORCE_COLOR`, `TERM`); None if that is left to us."""
    pager: str | None = None
    """What shows long output (`TURNLOG_PAGER`, then `PAGER`): None if that is left to us, empty for nothing."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings."""
        return cls(
            config_dirs=tuple(list_config_dirs(env, Path(os.path.expanduser("~")))),
            color=_color(env),
            pager=env.get("TURNLOG_PAGER", env.get("PAGER")),
        )


def _color(env: Mapping[str, str]) -> bool | None:
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return True
    return False if env.get("TERM") == "dumb" else None
