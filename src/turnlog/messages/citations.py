"""Where a text block took its statements from."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Open, Snake, UnknownBlock, UnsetType

__all__ = [
    "CharLocation",
    "Citation",
    "CitationBase",
    "ContentBlockLocation",
    "PageLocation",
    "SearchResultLocation",
    "WebSearchResultLocation",
]


class CitationBase(Snake, tag_field="type"):
    """What every citation says."""

    type: ClassVar[str]
    cited_text: str | UnsetType = UNSET


class _InDocument(CitationBase):
    document_index: int | UnsetType = UNSET
    document_title: str | None | UnsetType = UNSET
    file_id: str | None | UnsetType = UNSET


class CharLocation(_InDocument, tag="char_location"):
    """A range of characters of a plain-text document."""

    start_char_index: int | UnsetType = UNSET
    end_char_index: int | UnsetType = UNSET


class PageLocation(_InDocument, tag="page_location"):
    """A range of pages of a PDF."""

    start_page_number: int | UnsetType = UNSET
    end_page_number: int | UnsetType = UNSET


class ContentBlockLocation(_InDocument, tag="content_block_location"):
    """A range of blocks of a document made of blocks."""

    start_block_index: int | UnsetType = UNSET
    end_block_index: int | UnsetType = UNSET


class SearchResultLocation(CitationBase, tag="search_result_location"):
    """A range of blocks of a search result."""

    search_result_index: int | UnsetType = UNSET
    source: str | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    start_block_index: int | UnsetType = UNSET
    end_block_index: int | UnsetType = UNSET


class WebSearchResultLocation(CitationBase, tag="web_search_result_location"):
    """A page that a web search found."""

    url: str | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    encrypted_index: str | UnsetType = UNSET


Citation = Open[
    CharLocation | PageLocation | ContentBlockLocation | SearchResultLocation | WebSearchResultLocation,
    UnknownBlock,
]
