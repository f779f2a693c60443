"""Every question about one session, answered from its segments and the bytes of its lines.

The same code answers for an archived session and for files that were never archived: it knows segments, not
where they are kept.
"""
