"""The architecture, checked: imports point one way, and public names are declared once."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnlog

PACKAGE = Path(turnlog.__file__).parent
LAYERS = [
    "errors",
    "instants",
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
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = [module.name for module in pkgutil.walk_packages(turnlog.__path__, "turnlog.")]


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the turnlog modules that a file imports, and the depth of each import statement."""

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

    return ((name, depth) for name, depth in walk(ast.parse(path.read_text()), 0) if name.startswith("turnlog"))


def layer_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for name, depth in imported(path):
        layer = layer_of(name)
        if own == "__init__":
            assert layer in ("errors", "messages", "transcripts"), f"{name}: the root re-exports only these"
            continue
        assert layer != "testing" or own == "testing", "nothing imports testing"
        assert layer != "config" or own in TOP, "only the entry points read config"
        if layer in LAYERS and own in LAYERS:
            assert LAYERS.index(layer) <= LAYERS.index(own), f"{own} imports {name}"
        assert depth == 0 or own == "cli", f"{name} is imported inside a function"


def test_modules_do_not_import_each_other_in_circles() -> None:
    graph = {
        ".".join(("turnlog", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): {
            name for name, _ in imported(path)
        }
        for path in MODULES
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " → ".join((*trail, name))
        if name not in done and name in graph:
            for target in graph[name]:
                visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("name", ["turnlog", *NAMES])
def test_public_names_are_declared_and_there(name: str) -> None:
    module = importlib.import_module(name)
    declared = module.__all__
    assert len(set(declared)) == len(declared)
    assert not [missing for missing in declared if not hasattr(module, missing)]
    assert not [private for private in declared if private.startswith("_")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_public_definitions_are_declared(path: Path) -> None:
    tree = ast.parse(path.read_text())
    module = ".".join(("turnlog", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    }
    assert defined <= set(importlib.import_module(module).__all__)


def test_the_root_loads_nothing_until_it_is_asked() -> None:
    check = "import sys, turnlog; assert 'turnlog.messages' not in sys.modules; turnlog.messages"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_the_root_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = getattr(turnlog, "nonsense")  # noqa: B009
    assert set(turnlog.__all__) <= set(dir(turnlog))
