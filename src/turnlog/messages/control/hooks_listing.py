"""The hooks that are set up, as a menu would show them."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, Raw, Snake, UnsetType
from turnlog.messages.control.base import SnakeRequest


class SettingsParseError(Snake):
    """A setting that could not be understood."""

    file: str | UnsetType = UNSET
    path: str
    message: str | UnsetType = UNSET


class GetHooksListingRequest(SnakeRequest, tag="get_hooks_listing"):
    """Return all hooks."""


class HookEventSummary(Camel):
    """An event that hooks can wait for."""

    name: str
    summary: str | UnsetType = UNSET
    supports_matcher: bool | UnsetType = UNSET
    hook_count: int | UnsetType = UNSET
    """Only where hooks are counted, and not in the catalogue of events."""


class EditableHook(Camel):
    """A hook as its settings file has it."""

    matcher: str | UnsetType = UNSET
    config: dict[str, Raw] | UnsetType = UNSET
    headers_redacted: bool | UnsetType = UNSET


class ListedHook(Camel):
    """One hook."""

    event: str
    matcher: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    source_label: str | UnsetType = UNSET
    plugin_name: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    display_text: str | UnsetType = UNSET
    command_text: str | UnsetType = UNSET
    content_label: str | UnsetType = UNSET
    condition: str | UnsetType = UNSET
    timeout: Number | UnsetType = UNSET
    status_message: str | UnsetType = UNSET
    runs_once: bool | UnsetType = UNSET
    runs_in_background: bool | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    editable: EditableHook | UnsetType = UNSET


class HooksPolicy(Camel):
    """What the organisation says about hooks."""

    disabled_by_policy: bool | UnsetType = UNSET
    managed_only: bool | UnsetType = UNSET
    plugin_only: bool | UnsetType = UNSET
    all_disabled: bool | UnsetType = UNSET
    policy_hook_count: int | UnsetType = UNSET
    policy_unreadable: bool | UnsetType = UNSET


class SafeModeNotice(Camel):
    """Safe mode is on: only the organisation's hooks may run."""

    managed_hooks_still_apply: bool | UnsetType = UNSET
    exit_hint: str | UnsetType = UNSET


class BareModeNotice(Camel):
    """Bare mode is on: no hooks run."""

    exit_hint: str | UnsetType = UNSET


class HooksListingReply(Camel):
    """All hooks, and the events that they wait for."""

    events: tuple[HookEventSummary, ...] | UnsetType = UNSET
    hooks: tuple[ListedHook, ...]
    event_catalog: tuple[HookEventSummary, ...] | UnsetType = UNSET
    policy: HooksPolicy | UnsetType = UNSET
    safe_mode: SafeModeNotice | UnsetType = UNSET
    bare_mode: BareModeNotice | UnsetType = UNSET
    errors: tuple[SettingsParseError, ...] | UnsetType = UNSET
