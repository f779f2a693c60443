"""`make lint`: what nothing in the package uses, found by vulture; exceptions stand here with their reasons.

What only tests use is unused, too: they are not looked at. Fields of wire types are what the specs say, and
fields of answers are read by whoever asked; so annotated fields are left out, and functions, classes, methods,
properties, constants and attributes remain.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

from vulture.core import Item, Vulture

ROOT = Path(__file__).parent.parent
DECORATED = ["@*.command", "@*.group", "@click.command", "@click.group"]
DECORATED += ["@get", "@post", "@put", "@delete", "@patch"]
"""Found by their decorators, by click and Litestar."""
EXCEPTIONS = {
    "Python": ("__class_getitem__", "__dir__", "__getattr__", "_missing_", "_name_", "dst", "fromutc", "trace"),
    "click": ("list_commands", "get_command", "format_commands"),
    "Litestar, uvicorn and h11": (
        "operation_id", "request_body", "send_400_response", "disconnected", "capture_signals", "force_exit",
    ),
    "zipfile and re2": ("compress_type", "external_attr", "max_mem"),
    "the Agent SDK's session stores": ("list_session_summaries", "list_subkeys"),
    "whoever uses the library": (
        "next_deadline", "is_warning", "is_warmup", "list_path", "bytes_read", "panel", "find_price",
    ),
    "an upload that fails, by its code": ("DAMAGED",),
    "make docs": ("render_events", "render_notifications"),
    "tests that compare all tables, and the quick way to learn secrets, with it": ("UNSEEN", "learn"),
}  # fmt: skip
"""Who uses what nothing here does."""
EXCUSED = frozenset(name for names in EXCEPTIONS.values() for name in names)


@cache
def list_fields(path: Path) -> frozenset[int]:
    """Return the lines of a file on which a class declares a field, or what a wire type has as its values."""
    classes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef))
    kinds = (ast.AnnAssign, ast.Assign) if "messages" in path.parts else ast.AnnAssign
    return frozenset(part.lineno for node in classes for part in node.body if isinstance(part, kinds))


def is_excused(item: Item) -> bool:
    path = Path(item.filename)
    return (
        item.name in EXCUSED
        or "testing" in path.parts
        or (item.typ == "variable" and item.first_lineno in list_fields(path))
    )


def main() -> int:
    """Print what is unused; return how many there are, or 1 for an exception that is none any more."""
    vulture = Vulture(ignore_decorators=DECORATED)
    vulture.scavenge([str(ROOT / "src"), str(ROOT / "benchmarks")])
    unused = vulture.get_unused_code(min_confidence=60)
    found = [item for item in unused if not is_excused(item)]
    for item in found:
        where = Path(item.filename).relative_to(ROOT)
        print(f"{where}:{item.first_lineno}: {item.typ} {item.name} is unused")
    gone = sorted(EXCUSED - {item.name for item in unused})
    for name in gone:
        print(f"{Path(__file__).relative_to(ROOT)}: {name} is used, or not there any more")
    return 1 if found or gone else 0


if __name__ == "__main__":
    sys.exit(main())
