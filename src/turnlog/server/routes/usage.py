"""`/api/usage`: tokens and money, each answer once. Money is text here, digit for digit."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any

from litestar import Request, get
from litestar.params import QueryParameter

from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import InvalidRequestError
from turnlog.server.etags import check_unchanged
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.store.usage.building import UsageQuery, build_report
from turnlog.store.usage.cells import Span, find_zone
from turnlog.store.usage.report import Breakdown, Grouping, UsageReport


@get("/api/usage", sync_to_thread=True)
def get_usage(
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
    by: Annotated[Grouping, QueryParameter(description="What each row covers.")] = Grouping.DAILY,
    since: Annotated[date | None, QueryParameter(description="The first day to include.")] = None,
    until: Annotated[date | None, QueryParameter(description="The last day to include.")] = None,
    timezone: Annotated[
        str,
        QueryParameter(max_length=100, description="The time zone that defines days, such as Europe/Berlin."),
    ] = "UTC",
    breakdown: Annotated[
        Breakdown | None, QueryParameter(description="What rows are divided by; not available by tool.")
    ] = None,
    project: Annotated[
        str | None, QueryParameter(max_length=500, description="Part of the path of projects.")
    ] = None,
    top: Annotated[
        int,
        QueryParameter(
            ge=1,
            le=4000,
            description="The maximum number of rows: the most expensive, or the newest days, weeks, months or "
            "blocks. `others` combines the rest.",
        ),
    ] = 1000,
) -> UsageReport:
    """Report tokens and cost by day, session, project, model, tool or block of five hours."""
    try:
        zone = find_zone(timezone)
    except ValueError:
        problem = ErrorDetail(
            where="timezone", message="expected the name of a time zone, such as Europe/Berlin"
        )
        raise InvalidRequestError("There is no such time zone", problem) from None
    if by is Grouping.TOOL and breakdown is not None:
        raise InvalidRequestError("Rows by tool cannot be divided further")
    now = datetime.now(UTC)
    if by is not Grouping.BLOCKS:  # the rate of the block that is running changes with the time
        check_unchanged(request, store.read_feed(visible).last)
    query = UsageQuery(
        zone=zone,
        zone_name=timezone,
        now=now,
        by=by,
        breakdown=breakdown,
        span=Span(since, until),
        project=project,
        most=top,
    )
    return build_report(store.read_usage(visible), query)


HANDLERS = (get_usage,)
