"""The table that names the feed.

Numbers of the feed say nothing by themselves: a store that was restored from a backup counts on from an older
one, and a new store from 0. So the feed has a name, made at random, and that of a restored store another one.
"""

from __future__ import annotations

import apsw

__all__ = ["CHANGES", "FEED_TABLE", "renew_epoch"]

_NAME = "lower(hex(randomblob(8)))"

FEED_TABLE = f"""
CREATE TABLE feed (                    -- one row
    epoch  TEXT NOT NULL
);
INSERT INTO feed VALUES ({_NAME});
"""

CHANGES = """
ALTER TABLE changes RENAME TO former_changes;
CREATE TABLE changes (                 -- none is ever deleted, so no number is given twice
    seq       INTEGER PRIMARY KEY,
    owner     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    session   TEXT NOT NULL,
    revision  INTEGER NOT NULL,
    at_ns     INTEGER NOT NULL,
    person    TEXT,                    -- whose session it was, and before that
    former    TEXT,
    shared    INTEGER NOT NULL DEFAULT 0,
    origin                             -- of a hook delivery
);
INSERT INTO changes SELECT * FROM former_changes;
DROP TABLE former_changes;
"""


def renew_epoch(connection: apsw.Connection) -> None:
    """Give the feed another name, in the transaction of the caller."""
    connection.execute("DELETE FROM feed")
    connection.execute(f"INSERT INTO feed VALUES ({_NAME})")
