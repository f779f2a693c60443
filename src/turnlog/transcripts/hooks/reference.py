"""The tables of docs/hooks.md, made from the tables that the code goes by."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.transcripts.hooks.table import (
    EVENTS,
    NOTIFICATIONS,
    UNKNOWN_EVENT,
    UNKNOWN_NOTIFICATION,
    UNTYPED_NOTIFICATION,
    EventRule,
    NotificationRule,
)

__all__ = ["render_events", "render_notifications"]


def render_events() -> str:
    """Return the table of all events, as Markdown."""
    rows = [(f"`{name}`", rule) for name, rule in EVENTS.items()]
    return "\n".join(_render_events([*rows, ("any other", UNKNOWN_EVENT)])) + "\n"


def render_notifications() -> str:
    """Return the table of all types of notifications, as Markdown."""
    rows = [(f"`{name}`", rule) for name, rule in NOTIFICATIONS.items()]
    rows += [("any other", UNKNOWN_NOTIFICATION), ("none", UNTYPED_NOTIFICATION)]
    return "\n".join(_render_notifications(rows)) + "\n"


def _render_events(rows: list[tuple[str, EventRule]]) -> Iterator[str]:
    yield "| Event | Group | Label | Context | Tool | State |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, rule in rows:
        group = "depends on its type" if name == "`Notification`" else _render_group(rule.group, rule.shown)
        label = " or ".join(f"`{text}`" for text in (rule.label, rule.otherwise) if text) or "its name"
        context = (
            f"`{rule.whole}`, unchanged" if rule.whole else ", ".join(f"`{field}`" for field in rule.context)
        )
        tool = "`tool_name`" if rule.tool else ""
        yield f"| {name} | {group} | {label} | {context} | {tool} | {rule.change.value} |"


def _render_notifications(rows: list[tuple[str, NotificationRule]]) -> Iterator[str]:
    yield "| `notification_type` | Group | State |"
    yield "| --- | --- | --- |"
    for name, rule in rows:
        yield f"| {name} | {_render_group(rule.group, rule.shown)} | {rule.change.value} |"


def _render_group(group: str | None, shown: bool) -> str:
    return ("" if group is None else f"`{group}`") if shown else "kept, but not an event"
