"""The AskUserQuestion tool: questions with options, and the user's answers."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, UnsetType


class Option(Camel):
    """One of the answers to choose from."""

    label: str
    description: str | UnsetType = UNSET
    preview: str | UnsetType = UNSET


class Question(Camel):
    """A question with its options."""

    question: str
    header: str | UnsetType = UNSET
    options: tuple[Option, ...] | UnsetType = UNSET
    multi_select: bool | UnsetType = UNSET


class Annotation(Camel):
    """What the user added to an answer."""

    preview: str | UnsetType = UNSET
    notes: str | UnsetType = UNSET


class QuestionMetadata(Camel):
    """Where the questions come from."""

    source: str | UnsetType = UNSET


class AskUserQuestionInput(Camel):
    """Questions for the user; a permission prompt may have filled in the answers."""

    questions: tuple[Question, ...] | UnsetType = UNSET
    question: str | UnsetType = UNSET
    """Models also send a lone question, which the tool refuses."""
    answers: dict[str, str] | UnsetType = UNSET
    annotations: dict[str, Annotation] | UnsetType = UNSET
    metadata: QuestionMetadata | UnsetType = UNSET


class AskUserQuestionResult(Camel):
    """The user's answers, by question; those to a question with several choices are joined by commas."""

    questions: tuple[Question, ...]
    answers: dict[str, str]
    response: str | UnsetType = UNSET
    """What the user wrote instead of answering."""
    annotations: dict[str, Annotation] | UnsetType = UNSET
    afk_timeout_ms: Number | UnsetType = UNSET
