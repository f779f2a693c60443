"""Finding what is wrong with options before a query is started with them.

Options are first written and read again: that finds values of the wrong type, which Python lets pass when a
struct is made, and words that nobody knows. Then the rules speak.
"""

from __future__ import annotations

from typing import cast

from turnlog.messages.options.callbacks import Callbacks
from turnlog.messages.options.member_rules import check_agents, check_hooks, check_servers
from turnlog.messages.options.problems import OptionProblem, OptionProblemKind
from turnlog.messages.options.query import QueryOptions
from turnlog.messages.options.rules import RULES
from turnlog.messages.patch import encode_value
from turnlog.messages.problems import ProblemKind
from turnlog.messages.salvage import view

_ALL_RULES = (*RULES, check_servers, check_agents, check_hooks)

_KINDS: dict[ProblemKind, OptionProblemKind] = {
    ProblemKind.MISSING_FIELD: OptionProblemKind.MISSING,
    ProblemKind.UNKNOWN_TYPE: OptionProblemKind.UNKNOWN_VALUE,
    ProblemKind.UNKNOWN_VALUE: OptionProblemKind.UNKNOWN_VALUE,
}


def validate(options: QueryOptions, callbacks: Callbacks | None = None) -> tuple[OptionProblem, ...]:
    """Return all that is wrong or looks wrong; without `callbacks`, nothing that depends on them.

    Raises `ChangeError` for a value that has no JSON form, such as a function in a field.
    """
    read = view(QueryOptions, encode_value(options))
    problems = [
        OptionProblem(
            _KINDS.get(problem.kind, OptionProblemKind.WRONG_TYPE),
            problem.expected,
            problem.found,
            problem.steps,
        )
        for problem in read.problems
    ]
    # No option is required, so any object makes options.
    readable = cast("QueryOptions", read.value)
    for rule in _ALL_RULES:
        problems += rule(readable, callbacks)
    return tuple(problems)
