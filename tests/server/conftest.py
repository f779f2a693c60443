from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server_app import CORE, Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with an empty archive, for all tests of a module."""
    with serving(tmp_path_factory.mktemp("home"), routes=CORE) as running:
        yield running


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page as it is built."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>turnlog</title>" + "<p>hello</p>" * 200)
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "assets" / "index-abc123.js").write_text("console.log(1);" * 200)
    return folder
