"""The table of what `config.toml` can say, made from the types that read it and their fields' docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from turnlog import config

_TREE = ast.parse(inspect.getsource(config))


def render_file() -> str:
    """Return the table as Markdown: a row for each setting, in the order of the file's type."""
    head = ["| setting | default | what it says |", "| --- | --- | --- |"]
    return "\n".join([*head, *_list_rows(vars(config)["_File"])]) + "\n"


def _list_rows(file: Any) -> Iterator[str]:
    for section in msgspec.structs.fields(file):
        kinds = [section.type, *getattr(section.type, "__args__", ())]
        [kind] = [each for each in kinds if isinstance(each, type) and issubclass(each, msgspec.Struct)]
        texts = _read_docstrings(kind.__name__)
        for field in msgspec.structs.fields(kind):
            default = "required" if field.required else _spell(field.default)
            yield f"| `[{section.encode_name}] {field.encode_name}` | {default} | {texts[field.name]} |"


def _spell(value: Any) -> str:
    """Return a default as the file would say it."""
    if value in (None, ()):
        return ""
    return f"`{msgspec.json.encode(value).decode().replace(',', ', ')}`"


def _read_docstrings(name: str) -> dict[str, str]:
    """Return what is written below the fields of a class; Python itself does not keep it."""
    [body] = [each.body for each in _TREE.body if isinstance(each, ast.ClassDef) and each.name == name]
    return {
        field.target.id: inspect.cleandoc(text.value.value).replace("\n", " ")
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
