"""Opening the browser, where there is one that shows pages in a window."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Mapping


def open_browser(address: str, env: Mapping[str, str]) -> None:
    """Open an address, without waiting for it; where that cannot be done, nothing happens."""
    if has_screen(env):
        threading.Thread(target=_open, args=(address,), daemon=True).start()


def has_screen(env: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Tell whether a browser would open a window; in a terminal it would only be in the way."""
    if platform in ("darwin", "win32"):
        return not env.get("SSH_CONNECTION")
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY") or env.get("BROWSER"))


def _open(address: str) -> None:
    try:
        webbrowser.open(address)
    except (OSError, webbrowser.Error):
        return  # the address was shown
