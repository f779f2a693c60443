"""What every decoded value rests on.

Three decisions live here. *Spelling*: two bases, camelCase for what stands on disk and snake_case for what the
API and the stream say; a name that breaks its base's rule says so with `field(name=…)`. *Openness*: a union or
an enum of things we know is open to what we don't, so the static type names an `Unknown…` beside the known
members, while the decoder sees only the known ones and leaves the rest to `salvage`. *Absence*: a field that
is not there is `UNSET`, which is neither `None` nor `False`.

The modules with most of the types do not postpone their annotations: msgspec would evaluate one after the other
before the first line is decoded, for 15 ms.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias, TypeVar, dataclass_transform

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, StructMeta, UnsetType, field

from turnlog.errors import ChangeError

__all__ = [
    "REFUSALS", "UNSET", "Camel", "Number", "Open", "OpenEnum", "Raw", "Snake", "TypeEnum", "Unknown",
    "UnknownBlock", "UnknownField", "UnknownNamed", "UnknownTagged", "UnsetType", "Value", "encode_value",
    "field",
]  # fmt: skip

REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for data it does not take."""
Number = int | float
"""A JSON number as it stands: `1` and `1.0` are told apart."""


_TAG_NAMES = {"hookEventName": "hook_event_name"}


class _ValueMeta(StructMeta):
    """Makes all fields keyword-only, which msgspec does not hand down, and gives a tag its name in Python.

    A tag is no field: `type` is an attribute of the class, which costs nothing when lines are decoded.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        cls = super().__new__(mcs, name, bases, namespace, kw_only=True, **config)
        if isinstance(config.get("tag"), str):
            field_name = cls.__struct_config__.tag_field or "type"
            setattr(cls, _TAG_NAMES.get(field_name, field_name), config["tag"])
        return cls


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Value(
    Struct,
    metaclass=_ValueMeta,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
):
    """A decoded JSON object: immutable, and strict about what it knows.

    Strictness is what makes unknown fields visible: the decoder refuses them, and `salvage` then names each.
    Immutable trees have no cycles, so the garbage collector need not look at them.
    """


class Camel(Value, rename="camel"):
    """A value spelled in camelCase, as on disk."""


class Snake(Value):
    """A value spelled in snake_case, as in the API and the SDK stream."""


class Unknown:
    """Something that nobody declared yet, kept as the bytes it came in; immutable, and equal by content.

    Not a dataclass: msgspec would write one as an object of its fields, and not as those bytes.
    """

    __slots__ = ("raw",)
    raw: bytes

    def __init__(self, raw: bytes) -> None:
        object.__setattr__(self, "raw", raw)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((type(self), self.raw))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"


class UnknownTagged(Unknown):
    """A member of a union whose `type` nobody declared."""

    __slots__ = ("type",)
    type: str | None

    def __init__(self, raw: bytes, type: str | None) -> None:
        super().__init__(raw)
        object.__setattr__(self, "type", type)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r}, type={self.type!r})"


class UnknownNamed(Unknown):
    """Something that has a name, but no declared type."""

    __slots__ = ("name",)
    name: str | None

    def __init__(self, raw: bytes, name: str | None) -> None:
        super().__init__(raw)
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r}, name={self.name!r})"


class UnknownBlock(UnknownTagged):
    """A content block, or a part of one, of an unknown type."""


class UnknownField(UnknownNamed):
    """A field that its object's type does not declare."""


def _keep_unknown(value: Any) -> Raw:
    if isinstance(value, Unknown):
        return Raw(value.raw)
    raise ChangeError(f"cannot be written as JSON: {value!r}")


_encoder = msgspec.json.Encoder(enc_hook=_keep_unknown)


def encode_value(value: Any) -> bytes:
    """Encode a decoded or newly made value; an `Unknown` gives back its bytes."""
    if isinstance(value, Unknown):
        return value.raw
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError) as error:
        raise ChangeError(f"cannot be written as JSON: {error}") from error


class OpenEnum(StrEnum):
    """A set of known strings that may grow: an unknown one is a member too, with `known` False."""

    @classmethod
    def of(cls, value: str) -> Self:
        """Return the member for `value`, made up for the occasion when there is none."""
        known = cls._value2member_map_.get(value)
        if isinstance(known, cls):
            return known
        member = str.__new__(cls, value)
        member._name_ = "UNKNOWN"
        member._value_ = value
        return member

    @property
    def known(self) -> bool:
        """Tell whether the value was declared."""
        return self._value_ in type(self)._value2member_map_


class TypeEnum(OpenEnum):
    """An open enum that tells types apart: an unknown value of it is an unknown type."""


if TYPE_CHECKING:
    _Known = TypeVar("_Known")
    _Other = TypeVar("_Other")
    Open: TypeAlias = _Known | _Other
else:

    class Open:
        """`Open[Known, UnknownX]`: both for the reader, only `Known` for the decoder."""

        def __class_getitem__(cls, members: tuple[Any, type[Unknown]]) -> Any:
            known, unknown = members
            return Annotated[known, Meta(extra={"unknown": unknown})]
