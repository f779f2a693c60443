"""What the program asks the person: may this tool run, and what it wants to know.

All that is shown comes from a model or from files that it read, so it is shown whole and cleaned. Nothing is
allowed by an answer that is not clearly a yes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from turnlog.cli.terminal import clean, clean_line
from turnlog.messages.control import CanUseToolRequest
from turnlog.messages.permissions import (
    AddRules,
    PermissionAllow,
    PermissionBehavior,
    PermissionDeny,
    PermissionRuleValue,
    PermissionUpdate,
    PermissionUpdateDestination,
)

NOBODY = "Nobody can be asked: turnlog runs without a terminal."
_NO = "The user said no."
_YES, _REFUSALS, _ALWAYS = ("y", "yes"), ("", "n", "no"), ("a", "always")
_ASK = "AskUserQuestion"


class Question:
    """A request that waits for the person."""

    def __init__(self, request_id: str, request: CanUseToolRequest) -> None:
        self.request_id = request_id
        self._request = request
        self._input = _decode(request.input)
        self._answers: dict[str, str] = {}
        self._questions = self._list_questions()

    def describe(self) -> Iterator[str]:
        """Yield what is wanted, line by line."""
        request = self._request
        if self._questions:
            yield from self._describe_next()
            return
        who = f" (agent {clean_line(request.agent_id)})" if request.agent_id else ""
        yield f"{clean_line(request.tool_name)}{who} asks for permission:"
        for reason in (request.description, request.decision_reason):
            if reason:
                yield f"  {clean_line(reason)}"
        yield from (f"  {line}" for line in _describe_input(self._input))

    @property
    def prompt(self) -> str:
        """What to ask."""
        if self._questions:
            return "Number, or your own answer: "
        always = "" if self._request.suppress_always_allow_rule is True else "  [a]lways"
        return f"Allow? [y]es  [n]o{always}, or say why not: "

    def answer(self, said: str) -> PermissionAllow | PermissionDeny | None:
        """Take what the person said, and return the reply; None if there is more to ask."""
        if self._questions:
            return self._answer_question(said)
        word = said.strip().lower()
        if word in _YES:
            return PermissionAllow(updated_input=self._request.input)
        if word in _ALWAYS and self._request.suppress_always_allow_rule is not True:
            return PermissionAllow(updated_input=self._request.input, updated_permissions=self._list_rules())
        return PermissionDeny(message=_NO if word in _REFUSALS else said.strip())

    def refuse(self, reason: str = _NO, *, interrupt: bool = False) -> PermissionDeny:
        """Return a no."""
        return PermissionDeny(message=reason, interrupt=True if interrupt else UNSET)

    def _list_rules(self) -> tuple[PermissionUpdate, ...]:
        suggested = self._request.permission_suggestions
        if isinstance(suggested, tuple) and suggested:
            return suggested
        rule = PermissionRuleValue(tool_name=self._request.tool_name)
        return (
            AddRules(
                rules=(rule,),
                behavior=PermissionBehavior.ALLOW,
                destination=PermissionUpdateDestination.SESSION,
            ),
        )

    def _list_questions(self) -> list[dict[str, Any]]:
        if self._request.tool_name != _ASK or not isinstance(self._input, dict):
            return []
        asked = self._input.get("questions")
        found = [each for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
        return [each for each in found if isinstance(each.get("question"), str)]

    def _describe_next(self) -> Iterator[str]:
        question = self._questions[0]
        yield clean_line(question["question"])
        for number, option in enumerate(_list_options(question), 1):
            more = option.get("description")
            yield f"  {number}. {clean_line(option['label'])}" + (
                f": {clean_line(more)}" if isinstance(more, str) else ""
            )

    def _answer_question(self, said: str) -> PermissionAllow | PermissionDeny | None:
        if not said.strip():
            return PermissionDeny(message="The user did not answer.")
        question = self._questions.pop(0)
        labels = [option["label"] for option in _list_options(question)]
        words = [word.strip() for word in said.split(",")]
        chosen = [labels[int(word) - 1] for word in words if word.isdecimal() and 0 < int(word) <= len(labels)]
        self._answers[question["question"]] = ", ".join(chosen) if len(chosen) == len(words) else said.strip()
        if self._questions:
            return None
        given = {**self._input, "answers": self._answers}
        return PermissionAllow(updated_input=Raw(msgspec.json.encode(given)))


def _list_options(question: dict[str, Any]) -> list[dict[str, Any]]:
    options = question.get("options")
    found = [each for each in options if isinstance(each, dict)] if isinstance(options, list) else []
    return [each for each in found if isinstance(each.get("label"), str)]


def _decode(given: object) -> Any:
    try:
        return msgspec.json.decode(given) if isinstance(given, Raw) else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return bytes(given).decode("utf-8", "backslashreplace") if isinstance(given, Raw) else None


def _describe_input(given: Any) -> Iterator[str]:
    """Yield what a tool is given: each value under its name, whole."""
    if not isinstance(given, dict):
        yield from clean("" if given is None else str(given)).split("\n")
        return
    for name, value in given.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")
        first, *others = clean(text).split("\n")
        yield f"{clean_line(name)}: {first}"
        yield from (f"    {line}" for line in others)
