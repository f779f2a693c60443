"""`/api/health` and `/api/ready`: whether the server works, and wants requests, for everybody to ask."""

from __future__ import annotations

from importlib.metadata import version

from litestar import Response, get

from turnlog.errors import StoreError
from turnlog.server.dependencies import GivenStore
from turnlog.server.readiness import GivenReadiness
from turnlog.server.security.policies import PUBLIC
from turnlog.server.shapes.status import Health, ReadyState
from turnlog.store.interface import Store
from turnlog.store.model import LOCAL

_VERSION = version("turnlog")


@get("/api/health", opt=PUBLIC, sync_to_thread=True)
def get_health(store: GivenStore) -> Response[Health]:
    """Return whether the server works, and its version."""
    works = _answers(store)
    return Response(
        Health(status="ok" if works else "failing", version=_VERSION), status_code=200 if works else 503
    )


@get("/api/ready", opt=PUBLIC, sync_to_thread=True)
def get_ready(store: GivenStore, readiness: GivenReadiness) -> Response[ReadyState]:
    """Return whether requests should be sent here: not while the store fails or the server is shutting down.

    With `serve --drain`, a server that is asked to stop reports it here for a while before it ends.
    """
    if readiness.is_ending:
        return Response(ReadyState(ready=False, reason="ending"), status_code=503)
    if not _answers(store):
        return Response(ReadyState(ready=False, reason="failing"), status_code=503)
    return Response(ReadyState(ready=True))


def _answers(store: Store) -> bool:
    try:
        store.read_feed(LOCAL)
    except StoreError:
        return False
    return True


HANDLERS = (get_health, get_ready)
