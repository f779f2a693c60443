"""A machine has one name, whoever asks for it first."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from turnlog.ingest.machine import find_origin, read_origin


def test_whoever_asks_at_once_gets_the_same_name(tmp_path: Path) -> None:
    for attempt in range(20):
        home = tmp_path / f"home-{attempt}"
        with ThreadPoolExecutor(16) as threads:
            names = set(threads.map(lambda _, home=home: find_origin(home), range(16)))
        assert names == {read_origin(home)}
        assert os.listdir(home) == ["origin"]


def test_a_file_that_holds_no_name_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "origin").write_text("laptop\n")
    with pytest.raises(OSError, match="does not contain a machine name"):
        find_origin(tmp_path)
    assert read_origin(tmp_path) is None
    assert (tmp_path / "origin").read_text() == "laptop\n"
