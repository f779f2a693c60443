"""Extended JSON: how a document database exports values that JSON has no type for.

`mongoexport` writes an id, a date and, in its canonical form, every number as an object with one key that
begins with `$`. The entries have plain values; a changed one goes back into the form that its document had.
"""

from __future__ import annotations

import math
import re
from typing import Any

from turnlog.messages.base import UNSET, Number, Snake, UnsetType, field

_WHOLE = re.compile(r"-?\d{1,19}")


class ObjectId(Snake):
    """A database's own id, as it exports it."""

    oid: str = field(name="$oid")


class StoredNumber(Snake):
    """A number with its type; one of the fields is there."""

    int32: str | UnsetType = field(name="$numberInt", default=UNSET)
    int64: str | UnsetType = field(name="$numberLong", default=UNSET)
    double: str | UnsetType = field(name="$numberDouble", default=UNSET)
    decimal: str | UnsetType = field(name="$numberDecimal", default=UNSET)


class StoredDate(Snake):
    """An instant: ISO 8601, or milliseconds."""

    date: str | Number | StoredNumber = field(name="$date")


def plain(value: Any) -> Any:
    """Return what an exported value says; `UNSET` for a number that is none, any other value as it is."""
    if isinstance(value, StoredDate):
        return plain(value.date)
    if not isinstance(value, StoredNumber):
        return value
    form = _form(value)
    return UNSET if form is None else _number(getattr(value, form), whole=form in ("int32", "int64"))


def wrap(old: Any, new: Any) -> Any:
    """Return `new` in the form of `old`, which is kept as it stands if it says the same."""
    said = plain(old)
    if said == new and type(said) is type(new):
        return old
    if isinstance(old, StoredDate) and isinstance(new, str | int | float):
        return StoredDate(date=wrap(old.date, new))
    if isinstance(old, StoredNumber) and isinstance(new, int | float):
        return StoredNumber(**{_form(old) or "double": repr(new)})
    return new


def _form(number: StoredNumber) -> str | None:
    """Return the field that is there."""
    return next((name for name in number.__struct_fields__ if getattr(number, name) is not UNSET), None)


def _number(text: str, whole: bool) -> Number | UnsetType:
    if whole:
        return int(text) if _WHOLE.fullmatch(text) else UNSET
    try:
        number = float(text)
    except ValueError:
        return UNSET
    return number if math.isfinite(number) else UNSET
