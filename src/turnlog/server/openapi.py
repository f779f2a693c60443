"""The API's OpenAPI schema: Litestar's, with the one shape of every failure.

Litestar describes validation errors as it would answer them itself, which here it never does. It says "one of"
where "any of" is meant: null is one of `anything` and `null` twice. And it does not know what stands behind
fields, which is what strangers read first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from inspect import getsource
from itertools import pairwise
from textwrap import dedent
from typing import Any

import msgspec
from litestar import Litestar, Request
from litestar.openapi.plugins import JsonRenderPlugin
from msgspec import Struct

from turnlog.server.errors import ErrorDocument

_METHODS = ("get", "put", "post", "delete", "patch")
_NONE = re.compile(r"\bNone\b")
_SHAPES = ("turnlog.server.", "turnlog.store.usage.", "turnlog.transcripts.usage.", "turnlog.ingest.uploads.")
"""Where the classes are that the API answers."""
_REFERENCE = "#/components/schemas/{name}"


class SchemaPlugin(JsonRenderPlugin):
    """Shows the schema as JSON."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Return the schema."""
        return msgspec.json.encode(_correct(openapi_schema))


def build_schema(api: Litestar) -> dict[str, Any]:
    """Return the schema as plain values, the same each time."""
    return _correct(api.openapi_schema.to_schema())


def _correct(schema: dict[str, Any]) -> dict[str, Any]:
    (document,), components = msgspec.json.schema_components((ErrorDocument,), ref_template=_REFERENCE)
    failure = {"description": "Any failure", "content": {"application/json": {"schema": document}}}
    known = schema.setdefault("components", {}).setdefault("schemas", {})
    known.update(components)
    _describe(known)
    for path in schema.get("paths", {}).values():
        for operation in (path[method] for method in _METHODS if method in path):
            operation["summary"] = operation.get("description", "").partition(".")[0]
            operation["responses"].pop("400", None)
            operation["responses"].get("204", {}).pop("content", None)
            operation["responses"]["default"] = failure
    corrected = _loosen(schema)
    assert isinstance(corrected, dict)
    return corrected


def _describe(components: dict[str, Any]) -> None:
    """Say of each shape and field what stands behind it in its class."""
    for known in _list_structs(Struct):
        shape = components.get(known.__name__)
        if shape is None or not known.__module__.startswith(_SHAPES):
            continue
        shape["description"] = (known.__doc__ or "").strip()
        for name, text in _read_fields(known).items():
            field = shape.get("properties", {}).get(name)
            if field is not None:
                field["description"] = text


def _list_structs(of: type[Struct]) -> Iterator[type[Struct]]:
    for each in of.__subclasses__():
        yield each
        yield from _list_structs(each)


def _read_fields(known: type) -> dict[str, str]:
    """Return the strings that follow the fields of a class."""
    [tree] = ast.parse(dedent(getsource(known))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in pairwise(tree.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = _NONE.sub("null", " ".join(words.split()))
    return found


def _loosen(value: Any) -> Any:
    """Say "any of" for what no field tells apart."""
    if isinstance(value, list):
        return [_loosen(each) for each in value]
    if not isinstance(value, dict):
        return value
    loose = "oneOf" in value and "discriminator" not in value
    return {"anyOf" if loose and name == "oneOf" else name: _loosen(each) for name, each in value.items()}
