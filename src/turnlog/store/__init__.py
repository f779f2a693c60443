"""Keeping it: the archive of bytes, and the store of what was made of them.

SQL lives here and nowhere else. `interface` says what a store must do; `sqlite` is the embedded one.
"""
