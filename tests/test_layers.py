"""The architecture, checked: imports point one way, and public names are declared once."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import turnlog

PACKAGE = Path(turnlog.__file__).parent
LAYERS = [
    "errors",
    "atomic_files",
    "instants",
    "shapes",
    "messages",
    "transcripts",
    "store",
    "ingest",
    "export",
    "server",
    "integrations",
    "cli",
]
TOP = {"server", "integrations", "cli"}
INNER = "codec|envelope|legacy|sidecars|spans"
PUBLIC = re.compile(rf"turnlog(\.messages(\.(?!{INNER})\w+)?|\.transcripts|\.testing|\.integrations(\.\w+)?)?")
"""Who declares what others may use; elsewhere that would only hide what nobody uses."""
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = frozenset(module.name for module in pkgutil.walk_packages(turnlog.__path__, "turnlog."))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def list_imported(path: Path) -> list[tuple[str, int]]:
    """Return the turnlog modules that a file imports, and the depth of each import statement."""

    def walk(node: ast.AST, depth: int) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, depth) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                for alias in child.names:
                    submodule = f"{child.module}.{alias.name}"
                    yield submodule if submodule in NAMES else child.module or "", depth
            else:
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, depth + inside)

    return [(name, depth) for name, depth in walk(parse(path), 0) if name.startswith("turnlog")]


def name_module(path: Path) -> str:
    return ".".join(("turnlog", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def layer_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def list_wrong(path: Path) -> Iterator[str]:
    """Yield what a file must not import."""
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for name, depth in list_imported(path):
        layer = layer_of(name)
        if own == "__init__":
            if layer not in ("errors", "messages", "transcripts"):
                yield f"{name}: the root re-exports only these"
            continue
        if layer == "testing" and own != "testing":
            yield f"{name}: nothing imports testing"
        if layer == "config" and own not in TOP:
            yield f"{name}: only the entry points read config"
        if layer in LAYERS and own in LAYERS and LAYERS.index(layer) > LAYERS.index(own):
            yield f"{name}: {own} is below it"
        if depth and own != "cli":
            yield f"{name}: is imported inside a function"


def test_imports_point_one_way() -> None:
    assert len(MODULES) > 100
    wrong = {str(path.relative_to(PACKAGE)): found for path in MODULES if (found := list(list_wrong(path)))}
    assert wrong == {}


def test_modules_do_not_import_each_other_in_circles() -> None:
    graph = {name_module(path): {name for name, _ in list_imported(path)} for path in MODULES}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " → ".join((*trail, name))
        if name not in done and name in graph:
            for target in graph[name]:
                visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_public_names_are_declared_and_there() -> None:
    for name in ("turnlog", *sorted(NAMES)):
        module = importlib.import_module(name)
        declared = getattr(module, "__all__", [])
        assert hasattr(module, "__all__") or not PUBLIC.fullmatch(name), name
        assert len(set(declared)) == len(declared), name
        assert not [missing for missing in declared if not hasattr(module, missing)], name
        assert not [private for private in declared if private.startswith("_")], name


def test_only_public_packages_declare_names() -> None:
    declaring = {name for name in NAMES if hasattr(importlib.import_module(name), "__all__")}
    assert declaring == {name for name in NAMES if PUBLIC.fullmatch(name)}


def test_the_root_loads_nothing_until_it_is_asked() -> None:
    check = "import sys, turnlog; assert 'turnlog.messages' not in sys.modules; turnlog.messages"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_the_root_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = getattr(turnlog, "nonsense")  # noqa: B009
    assert set(turnlog.__all__) <= set(dir(turnlog))
