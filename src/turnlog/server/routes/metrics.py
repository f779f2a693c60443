"""`/metrics`: the figures for Prometheus, which needs the token."""

from __future__ import annotations

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from turnlog.server.metrics import CONTENT_TYPE, Metrics
from turnlog.server.security.policies import ADMINS


@get("/metrics", opt=ADMINS, sync_to_thread=True, include_in_schema=False)
def get_metrics(metrics: NamedDependency[SkipValidation[Metrics]]) -> Response[bytes]:
    """Return all figures."""
    return Response(metrics.render(), media_type=CONTENT_TYPE)


HANDLERS = (get_metrics,)
