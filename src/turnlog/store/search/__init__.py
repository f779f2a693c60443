"""Finding: the language of queries, the normal form of text, and the matcher that decides what is a hit.

Nothing here knows an engine or decodes a line. An engine's index proposes passages, `matcher.Matcher` decides,
and so every engine finds the same. Import from the modules: the command line wants only what it needs.
"""
