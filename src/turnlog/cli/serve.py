"""`turnlog serve`: the page and the API, on this machine.

If a server runs already, its address is printed; the browser is opened where there is a screen.
"""

from __future__ import annotations

import http.client
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.cli.output import Output, choice_option, output_options
from turnlog.cli.stores import needs_upgrade, upgrade_first
from turnlog.cli.terminal import MisuseError, warn
from turnlog.config import Settings
from turnlog.server.http_server import DEFAULT_PORT, LogFormat, Ready, ServeOptions, serve
from turnlog.server.processes import AlreadyServingError, OpeningKey, RunningServer
from turnlog.server.security.gate import is_loopback, parse_authority
from turnlog.server.security.tokens import TOKEN_FILE
from turnlog.store.model import PLACE_SETTINGS, is_made
from turnlog.transcripts.session_files import locate_sessions, path_text


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


_PATIENCE = 2.0


def request_login_address(presence: RunningServer, token_file: Path) -> str | None:
    """Return an address that lets one browser in; None if the server does not give one."""
    asked = urlsplit(presence.url)
    connection = http.client.HTTPConnection(asked.hostname or "", asked.port, timeout=_PATIENCE)
    try:
        token = token_file.read_text("ascii").strip()
        connection.request("POST", "/api/keys", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        body = answer.read(1 << 16)
        if answer.status != 201:
            return None
        return f"{presence.url}{msgspec.json.decode(body, type=OpeningKey).path}"
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


_OnReady = Callable[[Ready], None]


class ServeDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog serve --json` prints as soon as it answers."""

    url: str
    open_url: str
    """Lets one browser in, once, within some minutes."""
    token_file: str
    pid: int


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Listen on this port; 0 for any.  [default: {DEFAULT_PORT}, or the next that is free]",
)
@click.option(
    "--allow-host",
    "allowed",
    metavar="NAME[:PORT]",
    multiple=True,
    help="Also accept this host name: that of a proxy or a tunnel.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
@click.option("--no-sync", is_flag=True, help="Show what is archived; do not archive anything new.")
@click.option("--demo", is_flag=True, help="Show sample sessions instead of your own.")
@click.option("--new-token", is_flag=True, help="Create a new token for programs; the old one stops working.")
@click.option("--log-requests", is_flag=True, help="Write a line for each request to standard error.")
@choice_option(
    "--log-format",
    default=LogFormat.TEXT,
    help="How the log is written: for people, or one JSON object per line.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0, 3600),
    default=0.0,
    metavar="SECONDS",
    help="When stopped, keep answering for this long while /api/ready reports it.",
)
@output_options()
def serve_command(
    host: str,
    port: int | None,
    allowed: tuple[str, ...],
    no_browser: bool,
    no_sync: bool,
    demo: bool,
    log_format: str,
    drain: float,
    output: Output,
    **more: Any,
) -> None:
    """Show all sessions in the browser, updated live.

    Archives what is new, as `turnlog sync --watch` does, and serves the page and the API, only to this
    machine unless you say otherwise. The address that is printed lets one browser in; programs send the token
    from a file that only you can read.

    Examples:
      turnlog serve
      turnlog serve --demo                   sample sessions instead of your own
      turnlog serve --no-browser --port 9000
    """
    settings = Settings.from_env()
    for name in allowed:
        if parse_authority(name) is None:
            raise MisuseError(f"--allow-host {name}: not a host name, with or without a port")
    options = ServeOptions(
        host=host.strip("[]"),
        port=port,
        allowed=allowed,
        follows=not no_sync,
        log_format=LogFormat(log_format),
        drain_seconds=drain,
        **more,
    )
    if not is_loopback(options.host):
        warn(
            f"on {host}, everybody on the network can reach this server, and nothing is encrypted: anyone who "
            "intercepts the traffic can read your sessions, and the secrets that let you in"
        )

    samples = demo or (not output.as_json and _wants_demo(settings))

    def on_ready(ready: Ready) -> None:
        _announce(output, ready, "sample sessions" if samples else "your sessions")
        if not no_browser:
            open_browser(f"{ready.url}{ready.open_path}", os.environ)

    if samples:
        with _demo_settings() as (shown, env):
            _serve(shown, replace(options, demo=True), on_ready, env)
    else:
        _serve(settings, options, on_ready, dict(os.environ))


def _serve(settings: Settings, options: ServeOptions, on_ready: _OnReady, env: dict[str, str]) -> None:
    if needs_upgrade(settings.place):
        upgrade_first(settings)
    try:
        received = serve(settings.place, options, on_ready, env)
    except AlreadyServingError as error:
        fresh = (
            None
            if error.presence is None
            else request_login_address(error.presence, settings.home / TOKEN_FILE)
        )
        raise MisuseError(f"{error}" if fresh is None else f"{error}; open {fresh}") from error
    if received == signal.SIGINT:
        raise KeyboardInterrupt


def _announce(output: Output, ready: Ready, what: str) -> None:
    address = f"{ready.url}{ready.open_path}"
    if output.as_json:
        output.print_json(
            ServeDocument(url=ready.url, open_url=address, token_file=ready.token_file, pid=os.getpid())
        )
        return
    output.print(
        [
            f"turnlog serves {what} at {ready.url}/",
            f"  {address}",
            "  opens the page in one browser, once, within 10 minutes; run `turnlog serve` again for another",
            "Ctrl-C ends it.",
        ]
    )


def _wants_demo(settings: Settings) -> bool:
    """Tell whether there is nothing to show, and somebody would rather see the demo."""
    if is_made(settings.place):
        return False
    there = [path for path in settings.session_dirs if path.is_dir()]
    if locate_sessions(there).sessions:
        return False
    places = ", ".join(map(path_text, settings.config_dirs))
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        warn(f"no Claude Code sessions in {places} yet; `turnlog serve --demo` shows sample ones")
        return False
    return click.confirm(
        f"There are no Claude Code sessions in {places} yet. Show sample ones?", default=True, err=True
    )


@contextmanager
def _demo_settings() -> Iterator[tuple[Settings, dict[str, str]]]:
    """Give an archive of sample sessions, some of them played live, which ends with the program."""
    from turnlog.demo import install, play_live

    stopped = threading.Event()
    with TemporaryDirectory(prefix="turnlog-demo-") as folder:
        home, config = Path(folder, "home"), Path(folder, "claude")
        player = threading.Thread(target=play_live, args=(install(config, home=home), stopped), daemon=True)
        env = {**os.environ, "TURNLOG_HOME": os.fspath(home), "CLAUDE_CONFIG_DIR": os.fspath(config)}
        env = {name: value for name, value in env.items() if name not in PLACE_SETTINGS}
        player.start()
        try:
            yield Settings.from_env(env), env
        finally:
            stopped.set()
            player.join()
