"""How large is the code, and how is it cut?

Lines of code are neither blank nor a comment nor part of a docstring. The longest chain of imports
is the most modules that stand one behind the other when each imports the next one at its beginning; what only
types need, and what a function imports when it runs, is left out.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SMALL = 80
"""A module of fewer lines of code usually belongs into another one."""
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    """Print the figures of a folder of sources."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    modules = {_name(path, root): path for path in sorted(root.rglob("*.py"))}
    trees = {name: ast.parse(path.read_bytes()) for name, path in modules.items()}
    lines = {name: _count_lines(modules[name], tree) for name, tree in trees.items()}
    imports = {name: _find_imports(name, modules[name], tree, modules) for name, tree in trees.items()}
    importers = Counter(each for found in imports.values() for each in found)
    inner = [name for name in modules if not modules[name].name.startswith("__")]
    imported = sum(_count_import_lines(tree) for tree in trees.values())
    total = sum(lines.values())
    chain = _find_chain(imports)
    for title, figure in (
        ("lines of code", f"{total:,}"),
        ("statements", f"{sum(_count_statements(tree) for tree in trees.values()):,}"),
        ("modules", f"{len(modules):,}"),
        ("lines of imports", f"{imported:,}, {imported / total:.1%} of the code"),
        ("longest chain of imports", str(len(chain))),
        (f"modules under {SMALL} lines", str(sum(lines[name] < SMALL for name in inner))),
        ("modules with one importer", str(sum(importers[name] == 1 for name in inner))),
    ):
        print(f"{title:26} {figure}")
    print()
    package_of = {name: name.split(".")[1] for name in modules if name.count(".")}
    for package, count in Counter(package_of.values()).most_common():
        own = sum(lines[name] for name, each in package_of.items() if each == package)
        print(f"{package:26} {own:7,}{count:5}")
    return 0


def _name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _count_lines(path: Path, tree: ast.Module) -> int:
    documented = {
        line
        for node in ast.walk(tree)
        if isinstance(node, _DOCUMENTED)
        for each in node.body
        if isinstance(each, ast.Expr)
        and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, str)
        for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)
    }
    texts = path.read_text().splitlines()
    return sum(
        bool(text.strip()) and not text.lstrip().startswith("#") and number not in documented
        for number, text in enumerate(texts, 1)
    )


def _count_statements(tree: ast.Module) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def _count_import_lines(tree: ast.Module) -> int:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in found)


def _find_imports(name: str, path: Path, tree: ast.Module, modules: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in _list_at_once(tree.body):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif node.level:
            parts = name.split(".")
            package = parts if path.name == "__init__.py" else parts[:-1]
            base = ".".join((*package[: len(package) - node.level + 1], *filter(None, [node.module])))
            names = [base, *(f"{base}.{each.name}" for each in node.names)]
        else:
            names = [node.module or "", *(f"{node.module}.{each.name}" for each in node.names)]
        found.update(each for each in names if each in modules)
    return found - {name}


def _list_at_once(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield what a module imports when it is imported itself."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _list_at_once([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _list_at_once(node.body)


def _find_chain(imports: dict[str, set[str]]) -> tuple[str, ...]:
    @cache
    def find(name: str) -> tuple[str, ...]:
        # A package imports what is in it; whoever comes from there is not counted again.
        inner = (each for each in imports[name] if not name.startswith(f"{each}."))
        return (name, *max(map(find, inner), key=len, default=()))

    return max(map(find, imports), key=len)


if __name__ == "__main__":
    raise SystemExit(main())
