"""Which sessions a list has, as a condition in SQL: engines are asked the same, in their own words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from turnlog.store.lists import SessionFilter, list_model_forms
from turnlog.store.packing import pack_text
from turnlog.store.people import Visibility

__all__ = ["ListFilter"]


class ListFilter(ABC):
    """Builds conditions; an engine says what columns are called, and how they are compared with values."""

    columns: ClassVar[Mapping[str, str]]
    """Of texts, lists and times, by what they are; all text is bytes."""
    flags: ClassVar[Mapping[str, str]]
    """Conditions for what is so or not."""

    @abstractmethod
    def _name(self, name: str, kind: str) -> str:
        """Return a value of a kind (text, time) as it stands in a statement."""

    @abstractmethod
    def _begins(self, column: str, name: str) -> str:
        """Return the condition that a text begins with a value."""

    @abstractmethod
    def _has(self, column: str, name: str) -> str:
        """Return the condition that a value is within a text."""

    @abstractmethod
    def _any_has(self, column: str, name: str) -> str:
        """Return the condition that a value is within any text of a list."""

    @abstractmethod
    def _has_all(self, column: str, name: str) -> str:
        """Return the condition that all of some values are in a list."""

    @abstractmethod
    def _is_among(self, column: str, name: str) -> str:
        """Return the condition that a text is one of some values."""

    def build(self, asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
        """Yield conditions, and name what they compare with."""
        yield from self._list_names(asked, values)
        yield from self._list_people(asked, values)
        yield from self._list_texts(asked, values)
        yield from self._list_times(asked, values)
        yield from self._list_flags(asked)

    def _list_names(self, asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
        """Yield what is compared with names as they stand."""
        project = self.columns["project"]
        if asked.project is not None:
            values["project"] = pack_text(asked.project)
            yield f"{project} = {self._name('project', 'text')}"
        if asked.under is not None:
            base = asked.under.rstrip("/\\")
            below = {"slash": f"{base}/", "backslash": f"{base}\\"}
            values["under"] = pack_text(asked.under)
            values |= {name: pack_text(path) for name, path in below.items()}
            clauses = [f"{project} = {self._name('under', 'text')}"]
            clauses += (self._begins(project, name) for name in below)
            yield f"({' OR '.join(clauses)})"
        if asked.session is not None:
            values["session"] = pack_text(asked.session)
            names = (self.columns[name] for name in ("key", "session_id", "told_id"))
            yield f"({' OR '.join(self._begins(column, 'session') for column in names)})"
        if asked.series is not None:
            values["series"] = pack_text(asked.series)
            yield f"{self.columns['series']} = {self._name('series', 'text')}"
        if asked.tags:
            values["tags"] = list(map(pack_text, asked.tags))
            yield self._has_all(self.columns["tags"], "tags")

    def _list_people(self, asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
        for name, column, wanted in (
            ("persons", self.columns["person"], asked.persons),
            ("machines", self.columns["origin"], asked.machines),
        ):
            if wanted:
                values[name] = list(map(pack_text, wanted))
                yield self._is_among(column, name)

    def _list_texts(self, asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
        """Yield what is compared whatever its case."""
        name_key, title_key = self.columns["name_key"], self.columns["title_key"]
        for name, text, condition in (
            ("name", asked.name, self._begins(name_key, "name")),
            ("text", asked.text, f"({self._has(title_key, 'text')} OR {self._has(name_key, 'text')})"),
            ("project_text", asked.project_text, self._has(self.columns["project_key"], "project_text")),
            ("branch", asked.branch, self._any_has(self.columns["branch_keys"], "branch")),
        ):
            if text is not None:
                values[name] = pack_text(text.casefold())
                yield condition
        if asked.model is not None:
            forms = {f"model{number}": form for number, form in enumerate(list_model_forms(asked.model))}
            values |= {name: pack_text(form) for name, form in forms.items()}
            clauses = (self._any_has(self.columns["model_keys"], name) for name in forms)
            yield f"({' OR '.join(clauses)})"

    def _list_times(self, asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
        for name, moment, column, sign in (
            ("since", asked.since, "last_time", ">="),
            ("until", asked.until, "first_time", "<"),
        ):
            if moment is not None:
                values[name] = moment
                yield f"{self.columns[column]} {sign} {self._name(name, 'time')}"

    def _list_flags(self, asked: SessionFilter) -> Iterator[str]:
        is_shared = None if asked.visibility is None else asked.visibility is Visibility.TEAM
        for wanted, name in (
            (is_shared, "shared"),
            (asked.starred, "starred"),
            (asked.archived, "archived"),
            (asked.only_here, "only_here"),
            (asked.errors, "errors"),
            (asked.problems, "problems"),
        ):
            if wanted is not None:
                yield self.flags[name] if wanted else f"NOT ({self.flags[name]})"
