"""Events of a session's life: it begins, is set up, compacts, changes its model, and ends."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, OpenEnum, UnsetType
from turnlog.messages.hook_events.base import BaseHookInput
from turnlog.messages.system import CompactTrigger


class SessionStartSource(OpenEnum):
    """How a session came to start."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"
    FORK = "fork"


class ExitReason(OpenEnum):
    """Why a session ended."""

    CLEAR = "clear"
    LOGOUT = "logout"
    PROMPT_INPUT_EXIT = "prompt_input_exit"
    OTHER = "other"
    BYPASS_PERMISSIONS_DISABLED = "bypass_permissions_disabled"
    RESUME = "resume"


class SetupTrigger(OpenEnum):
    """What a setup is for."""

    INIT = "init"
    MAINTENANCE = "maintenance"


class PreModelSwitchSource(OpenEnum):
    """Who asks for another model."""

    COMMAND = "command"
    PICKER = "picker"
    SDK = "sdk"


class PostModelSwitchSource(OpenEnum):
    """Who changed the model; not all of them ask before."""

    COMMAND = "command"
    PICKER = "picker"
    SDK = "sdk"
    AUTO = "auto"
    RESUME = "resume"


class CacheTtl(OpenEnum):
    """How long the prompt cache lives."""

    FIVE_MINUTES = "5m"
    ONE_HOUR = "1h"


class PricingSource(OpenEnum):
    """Where the price of an estimate was looked up."""

    CONFIGURED = "configured"
    CATALOG = "catalog"
    DEFAULT = "default"


class SessionStartHookInput(BaseHookInput, tag="SessionStart"):
    """A session has begun, or goes on."""

    source: SessionStartSource | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    session_title: str | None | UnsetType = UNSET
    seconds_since_last_response: Number | None | UnsetType = UNSET
    context_tokens: int | None | UnsetType = UNSET
    prompt_cache_likely_expired: bool | None | UnsetType = UNSET
    estimated_cache_write_usd: Number | None | UnsetType = UNSET


class SessionEndHookInput(BaseHookInput, tag="SessionEnd"):
    """A session is over."""

    reason: ExitReason | UnsetType = UNSET


class SetupHookInput(BaseHookInput, tag="Setup"):
    """The program runs only to prepare or to tidy up."""

    trigger: SetupTrigger | UnsetType = UNSET


class PreCompactHookInput(BaseHookInput, tag="PreCompact"):
    """The context is about to be compacted."""

    trigger: CompactTrigger | UnsetType = UNSET
    custom_instructions: str | None | UnsetType = UNSET
    """What the person wrote behind `/compact`."""


class PostCompactHookInput(BaseHookInput, tag="PostCompact"):
    """The context was compacted."""

    trigger: CompactTrigger | UnsetType = UNSET
    compact_summary: str | None | UnsetType = UNSET


class _ModelSwitch(BaseHookInput):
    """From which model to which, and what it costs."""

    from_model: str | UnsetType = UNSET
    to_model: str | UnsetType = UNSET
    requested_model: str | None | UnsetType = UNSET
    context_tokens: int | None | UnsetType = UNSET
    prompt_cache_warm: bool | None | UnsetType = UNSET
    cache_ttl: CacheTtl | None | UnsetType = UNSET
    estimated_cache_write_usd: Number | None | UnsetType = UNSET
    pricing: PricingSource | None | UnsetType = UNSET


class PreModelSwitchHookInput(_ModelSwitch, tag="PreModelSwitch"):
    """Another model is about to take over."""

    source: PreModelSwitchSource | UnsetType = UNSET


class PostModelSwitchHookInput(_ModelSwitch, tag="PostModelSwitch"):
    """Another model has taken over."""

    source: PostModelSwitchSource | UnsetType = UNSET
