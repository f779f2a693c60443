"""`python -m turnlog.server.describe`: the API's schema, from which the page's types are made."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from turnlog.server.app import build_app
from turnlog.server.schema import build_schema
from turnlog.server.security.hosts import Hosts
from turnlog.server.security.tokens import TokenKeeper
from turnlog.store.accounts.opening import open_accounts
from turnlog.store.opening import open_store


def describe() -> bytes:
    """Return the OpenAPI schema as JSON that people can read, the same each time."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "turnlog.db")
        with closing(open_store(place)) as store, closing(open_accounts(place, create=False)) as accounts:
            app = build_app(store, TokenKeeper(Path(folder, "token")), Hosts("127.0.0.1", 1, ()), accounts)
            return msgspec.json.format(msgspec.json.encode(build_schema(app.api)), indent=2) + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(describe())
