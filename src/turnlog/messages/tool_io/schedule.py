"""Tools that act later or elsewhere: Cron…, ScheduleWakeup and RemoteTrigger."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, Raw, Snake, UnsetType


class CronCreateInput(Snake):
    """A prompt to run at set times."""

    cron: str
    prompt: str | UnsetType = UNSET
    recurring: bool | UnsetType = UNSET
    durable: bool | UnsetType = UNSET


class CronCreateResult(Camel):
    """A job that was set up."""

    id: str
    human_schedule: str
    recurring: bool | UnsetType = UNSET
    durable: bool | UnsetType = UNSET
    next_fire_at: Number | UnsetType = UNSET


class CronDeleteInput(Snake):
    """A job to cancel."""

    id: str


class CronDeleteResult(Camel):
    """A job that was cancelled."""

    id: str
    ended_loop_wakeup: bool | UnsetType = UNSET


class CronListInput(Snake):
    """A question for all jobs; it has no parameters."""


class CronJob(Camel):
    """A prompt that runs at set times."""

    id: str
    cron: str | UnsetType = UNSET
    human_schedule: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    recurring: bool | UnsetType = UNSET
    durable: bool | UnsetType = UNSET
    next_fire_at: Number | UnsetType = UNSET


class CronListResult(Camel):
    """All jobs."""

    jobs: tuple[CronJob, ...]


class ScheduleWakeupInput(Camel):
    """When the agent wants to be woken, or that it no longer does."""

    delay_seconds: Number | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    stop: bool | UnsetType = UNSET
    noop: bool | UnsetType = UNSET


class ScheduleWakeupResult(Camel):
    """When the agent will be woken."""

    scheduled_for: Number
    clamped_delay_seconds: Number | UnsetType = UNSET
    was_clamped: bool | UnsetType = UNSET
    stopped: bool | UnsetType = UNSET
    cancelled_wakeups: int | UnsetType = UNSET


class RemoteTriggerInput(Snake):
    """A request about the triggers that start sessions on other machines."""

    action: str
    """`list`, `get`, `create`, `update`, `run`, `create_webhook_trigger`, `list_runs` or `get_run_log`."""
    trigger_id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    cursor: str | UnsetType = UNSET
    body: dict[str, Raw] | UnsetType = UNSET


class RemoteTriggerResult(Camel):
    """The service's answer, its body as text."""

    status: int
    json: str
    summary: str | UnsetType = UNSET
