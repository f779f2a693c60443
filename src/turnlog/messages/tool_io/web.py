"""Tools that reach the web: WebFetch and WebSearch."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, Snake, UnsetType
from turnlog.messages.tool_io.reading import ArtifactRead


class WebFetchInput(Snake):
    """A page to fetch, and what to find out from it."""

    url: str
    prompt: str | UnsetType = UNSET
    offset: int | UnsetType = UNSET


class WebFetchResult(Camel):
    """What a page said about the question."""

    url: str
    code: int
    code_text: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    result: str | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET
    artifact_read: ArtifactRead | UnsetType = UNSET


class WebSearchInput(Snake):
    """Words to look for on the web."""

    query: str
    allowed_domains: tuple[str, ...] | UnsetType = UNSET
    blocked_domains: tuple[str, ...] | UnsetType = UNSET


class WebPage(Snake):
    """A page that a search found."""

    title: str | UnsetType = UNSET
    url: str
    snippet: str | UnsetType = UNSET


class WebSearchHits(Snake):
    """The pages that one search on the API's side found."""

    tool_use_id: str | UnsetType = UNSET
    content: tuple[WebPage, ...]


class WebSearchResult(Camel):
    """What searches found, with the model's own remarks between them as text."""

    query: str
    results: tuple[WebSearchHits | str, ...]
    duration_seconds: Number | UnsetType = UNSET
    search_count: int | UnsetType = UNSET
