"""The table of leases."""

from __future__ import annotations

__all__ = ["LEASE_TABLE"]

LEASE_TABLE = """
CREATE TABLE leases (
    machine  text COLLATE "C" PRIMARY KEY,
    holder   text COLLATE "C" NOT NULL,
    expires  timestamptz NOT NULL
);
"""
