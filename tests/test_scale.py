"""The page about scale says what is computed from what was measured."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def scale() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scale", ROOT / "benchmarks" / "scale.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for the annotations of its structs
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_tables_that_are_computed(
    scale: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scale.main([]) == 0

    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    block = page.partition("<!-- computed -->\n")[2].partition("<!-- end -->")[0]
    assert block == capsys.readouterr().out


def test_what_is_needed_grows_with_the_developers(scale: ModuleType) -> None:
    seen = msgspec.json.decode(scale.RECORD.read_bytes(), type=scale.Measured)

    small, large = (scale.compute(seen, developers, 1.0, 12) for developers in (100, 100_000))

    assert large.rows_kept == pytest.approx(1000 * small.rows_kept)
    assert large.shards > small.shards == 1
    assert large.grouped >= small.grouped >= 1
