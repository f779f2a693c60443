"""`/api/health`: whether the server works, for everybody to ask."""

from __future__ import annotations

from importlib.metadata import version

from litestar import Response, get

from turnlog.errors import StoreError
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.security.guard import PUBLIC
from turnlog.server.shapes.status import Health

__all__ = ["HANDLERS", "get_health"]

_VERSION = version("turnlog")


@get("/api/health", opt=PUBLIC, sync_to_thread=True)
def get_health(store: GivenStore, visible: GivenScope) -> Response[Health]:
    """Tell whether the server works, and which version it is."""
    try:
        store.find_last_change(visible)
    except StoreError:
        return Response(Health(status="failing", version=_VERSION), status_code=503)
    return Response(Health(status="ok", version=_VERSION))


HANDLERS = (get_health,)
