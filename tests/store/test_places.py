"""Where a store is: a file, or a server that an address names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from turnlog.errors import StoreError
from turnlog.store.model import ServerPlace, home_of, is_made, parse_address
from turnlog.store.opening import open_store


def test_a_file_has_its_folder_for_what_belongs_to_the_machine(tmp_path: Path) -> None:
    place = tmp_path / "turnlog.db"
    assert home_of(place) == tmp_path
    assert not is_made(place)
    open_store(place).close()
    assert is_made(place)


def test_a_server_is_named_by_its_address_and_has_a_folder_here_too(tmp_path: Path) -> None:
    address = "postgresql://ada@db.example.org:5433/turnlog"
    place = parse_address(address, tmp_path)
    assert (place, home_of(place), is_made(place)) == (ServerPlace(address, tmp_path), tmp_path, True)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:s3cret@db:5433/turnlog", "postgresql://ada@db:5433/turnlog"),
        ("postgres://:s3cret@db/turnlog", "postgres://@db/turnlog"),
        ("postgresql:///turnlog?host=/run/pg&password=s3cret", "postgresql:///turnlog"),
    ],
)
def test_a_password_is_never_shown(address: str, shown: str) -> None:
    assert str(ServerPlace(address, Path())) == shown
    assert "s3cret" not in f"{ServerPlace(address, Path())}"


@pytest.mark.parametrize("address", ["mysql://ada:s3cret@db/x", "turnlog.db", "", "postgresql://[s3cret"])
def test_an_address_that_nobody_knows_is_refused_and_not_repeated(address: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Expected") as refused:
        parse_address(address, tmp_path)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("scheme", ["clickhouse", "clickhouses", "chdb"])
def test_an_engine_that_was_removed_is_refused_and_says_how_to_get_the_archive_out(
    scheme: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"ClickHouse.*`turnlog export --raw`.*`turnlog sync`") as refused:
        parse_address(f"{scheme}://ada:s3cret@db/turnlog", tmp_path)
    assert "s3cret" not in str(refused.value)


def test_an_engine_whose_driver_is_missing_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("turnlog.store.catalogue.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(StoreError, match=r"pip install 'turnlog\[postgres\]'"):
        open_store(ServerPlace("postgresql://db/turnlog", tmp_path))
