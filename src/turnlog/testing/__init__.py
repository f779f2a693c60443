"""For tests: ours, and those of people who write a store of their own.

`builders` makes lines and batches, `store_contract` holds any store to what the interface says. Nothing else in
turnlog imports this package.
"""

from turnlog.testing.answers import Answers, collect_answers
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.contracts.feed import merge_derived
from turnlog.testing.memory_session import FileRecords, MemorySession, pack_records, unpack_records
from turnlog.testing.row_builders import make_derived, make_message, make_session_row
from turnlog.testing.store_contract import CaredStoreContract, StoreContract

__all__ = [
    "make_line",
    "make_lines",
    "make_key",
    "make_batch",
    "make_derived",
    "make_session_row",
    "make_message",
    "FileRecords",
    "pack_records",
    "unpack_records",
    "MemorySession",
    "Answers",
    "collect_answers",
    "merge_derived",
    "StoreContract",
    "CaredStoreContract",
]
