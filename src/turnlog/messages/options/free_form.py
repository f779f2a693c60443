"""Where the types of options end, and why."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_SETTINGS = "settings have a schema of their own, and may hold any key"

FREE_FORM: Mapping[str, str] = MappingProxyType(
    {
        "JsonSchemaOutputFormat.schema": "a JSON Schema",
        "QueryOptions.settings": _SETTINGS,
        "QueryOptions.managed_settings": _SETTINGS,
        "SessionSummaryEntry.data": "what the store makes of a session",
    }
)
"""The fields that are kept raw on purpose, and why."""
