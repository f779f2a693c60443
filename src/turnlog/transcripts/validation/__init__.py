"""The rules of specs 000, 001, 003 and 004, and what breaks them.

`validate` holds lines to the rules of their dialects, `Validator` does so as they come in. `RULES` is the table
of all rules; `python -m turnlog.transcripts.validation` prints it.
"""
