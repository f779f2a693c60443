"""For tests: ours, and those of people who write a store of their own.

`builders` makes lines and batches, `store_contract` holds any store to what the interface says. Nothing else in
turnlog imports this package.
"""

from turnlog.testing.answers import Answers, collect_answers
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.merging import merge_rows
from turnlog.testing.row_builders import make_message_row, make_rows, make_session_row
from turnlog.testing.store_contract import CaredStoreContract, StoreContract

__all__ = [
    "make_line",
    "make_lines",
    "make_key",
    "make_batch",
    "make_rows",
    "make_session_row",
    "make_message_row",
    "Answers",
    "collect_answers",
    "merge_rows",
    "StoreContract",
    "CaredStoreContract",
]
