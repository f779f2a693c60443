"""The store on a ClickHouse server: facts and rows there, bytes apart, and what must be in one order beside it.

ClickHouse has no transactions. So what is written comes in two parts. Facts and derived rows are *staged*:
they are there, and nobody looks at them. Then the rows of sessions, which name the newest revision, are
*published*: with these, the others are seen. In between, the control database (`turnlog.store.control`) has
committed what is to be published, so whoever dies leaves something that can be finished, or undone
(`transaction`).
"""

__all__: list[str] = []
