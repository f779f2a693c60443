"""The limits of the plan: how near they are, and what may be used beyond them."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, UnsetType
from turnlog.messages.sdk.base import TypedMessage


class LimitStatus(OpenEnum):
    """Whether a limit lets requests pass."""

    ALLOWED = "allowed"
    ALLOWED_WARNING = "allowed_warning"
    REJECTED = "rejected"


class RateLimitType(OpenEnum):
    """Which limit it is."""

    FIVE_HOUR = "five_hour"
    SEVEN_DAY = "seven_day"
    SEVEN_DAY_OPUS = "seven_day_opus"
    SEVEN_DAY_SONNET = "seven_day_sonnet"
    SEVEN_DAY_OVERAGE_INCLUDED = "seven_day_overage_included"
    OVERAGE = "overage"


class OverageDisabledReason(OpenEnum):
    """Why nothing beyond the plan may be used."""

    OVERAGE_NOT_PROVISIONED = "overage_not_provisioned"
    ORG_LEVEL_DISABLED = "org_level_disabled"
    ORG_LEVEL_DISABLED_UNTIL = "org_level_disabled_until"
    OUT_OF_CREDITS = "out_of_credits"
    SEAT_TIER_LEVEL_DISABLED = "seat_tier_level_disabled"
    MEMBER_LEVEL_DISABLED = "member_level_disabled"
    SEAT_TIER_ZERO_CREDIT_LIMIT = "seat_tier_zero_credit_limit"
    GROUP_ZERO_CREDIT_LIMIT = "group_zero_credit_limit"
    MEMBER_ZERO_CREDIT_LIMIT = "member_zero_credit_limit"
    ORG_SERVICE_LEVEL_DISABLED = "org_service_level_disabled"
    NO_LIMITS_CONFIGURED = "no_limits_configured"
    FETCH_ERROR = "fetch_error"
    UNKNOWN_REASON = "unknown"


class SpendLimit(OpenEnum):
    """Whose spending limit was reached."""

    SERVICE = "service"
    CHANNEL = "channel"
    GROUP_POOL = "group_pool"


class LimitError(OpenEnum):
    """What is missing to go on."""

    CREDITS_REQUIRED = "credits_required"


class RateLimitInfo(Camel):
    """How near a limit is."""

    status: LimitStatus | UnsetType = UNSET
    resets_at: Number | UnsetType = UNSET
    """Seconds since 1970, as `overage_resets_at`."""
    rate_limit_type: RateLimitType | UnsetType = UNSET
    utilization: Number | UnsetType = UNSET
    overage_status: LimitStatus | UnsetType = UNSET
    overage_resets_at: Number | UnsetType = UNSET
    overage_disabled_reason: OverageDisabledReason | UnsetType = UNSET
    is_using_overage: bool | UnsetType = UNSET
    overage_in_use: bool | UnsetType = UNSET
    overage_enabled: bool | UnsetType = UNSET
    surpassed_threshold: Number | UnsetType = UNSET
    limit_scope: SpendLimit | UnsetType = UNSET
    error_code: LimitError | UnsetType = UNSET
    can_user_purchase_credits: bool | UnsetType = UNSET
    has_chargeable_saved_payment_method: bool | UnsetType = UNSET


class RateLimitEvent(TypedMessage, tag="rate_limit_event"):
    """The state of a limit changed."""

    rate_limit_info: RateLimitInfo | UnsetType = UNSET
