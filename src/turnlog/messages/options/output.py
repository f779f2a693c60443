"""The form in which the final answer is wanted."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, Raw, UnknownTagged, UnsetType


class UnknownOutputFormat(UnknownTagged):
    """A form of an unknown type."""

    __slots__ = ()


class JsonSchemaOutputFormat(Camel, tag_field="type", tag="json_schema"):
    """JSON that a schema describes."""

    type: ClassVar[str]
    schema: dict[str, Raw] | UnsetType = UNSET
    """Needed; `validation` says so."""


OutputFormat = Open[JsonSchemaOutputFormat, UnknownOutputFormat]
"""The form of the final answer; so far always a JSON Schema."""
