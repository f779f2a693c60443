"""Where the server listens."""

from __future__ import annotations

import errno
import os
import socket

from turnlog.errors import ServerError

try:
    import resource
except ImportError:  # where there is no such limit
    resource = None  # type: ignore[assignment]

DEFAULT_PORT = 8822
_ATTEMPTS = 20
_WAITING = 512
"""How many connections may wait to be taken: when the server comes again, all pages do at once."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket on a port; without one, on the usual port or the next that is free.

    Raises `ServerError` if the port is taken, or the host is not this machine's.
    """
    if port is not None:
        return _bind(host, port)
    for attempt in range(DEFAULT_PORT, DEFAULT_PORT + _ATTEMPTS):
        try:
            return _bind(host, attempt)
        except _TakenError:
            continue
    raise ServerError(
        f"ports {DEFAULT_PORT} to {DEFAULT_PORT + _ATTEMPTS - 1} are all in use; choose one with --port"
    )


def build_url(host: str, port: int) -> str:
    """Return the address under which a browser on this machine finds the server."""
    name = _EVERYWHERE.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def allow_files(count: int) -> None:
    """Have the system let us open so many files and connections, as far as it does."""
    if resource is None:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if most == resource.RLIM_INFINITY else min(count, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


class _TakenError(ServerError):
    """Somebody else listens there."""


def _bind(host: str, port: int) -> socket.socket:
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise ServerError(f"{host} is not an address of this machine ({error.strerror or error})") from error
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two programs listen on one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_WAITING)  # only now is it certain that nobody else does
    except OSError as error:
        made.close()
        raise _explain(error, host, port) from error
    return made


def _explain(error: OSError, host: str, port: int) -> ServerError:
    if error.errno == errno.EADDRINUSE:
        return _TakenError(f"port {port} of {host} is in use by another program; choose another with --port")
    if error.errno in (errno.EACCES, errno.EPERM):
        return ServerError(f"port {port} of {host} is not allowed; choose one above 1023 with --port")
    return ServerError(f"cannot listen on port {port} of {host}: {error.strerror or error}")
