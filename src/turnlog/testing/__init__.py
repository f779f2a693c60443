"""For tests of those who write a store of their own, and ours.

`builders` makes lines and batches, `store_contract` holds any store to what the interface says. Nothing else in
turnlog imports this package.
"""

from turnlog.testing.builders import make_batch, make_key, make_line, make_lines, make_session_row
from turnlog.testing.store_contract import StoreContract

__all__ = ["make_line", "make_lines", "make_key", "make_batch", "make_session_row", "StoreContract"]
