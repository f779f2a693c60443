from __future__ import annotations

from typing import Any, TypeVar, get_args

import pytest

import golden
import turnlog
from turnlog import UNSET, ProblemKind, UnknownTypeError
from turnlog.messages import UnknownBlock, blocks
from turnlog.messages.base import Raw
from turnlog.messages.blocks import (
    Citation,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from turnlog.messages.entries import AssistantEntry, UserEntry

T = TypeVar("T")


def members(union: Any) -> set[type]:
    """Return the known members of an open union."""
    known, _ = get_args(union)
    return set(get_args(known))


def contents(name: str) -> list[tuple[ContentBlock, ...]]:
    """Return the blocks of each line of one phenomenon."""
    found = []
    for line in golden.entry_lines(name):
        entry = turnlog.decode(line).entry
        assert isinstance(entry, UserEntry | AssistantEntry)
        assert isinstance(entry.message.content, tuple)
        found.append(entry.message.content)
    return found


def all_blocks(name: str, cls: type[T]) -> list[T]:
    found = [block for content in contents(name) for block in content]
    assert {type(block) for block in found} == {cls}
    return [block for block in found if isinstance(block, cls)]


def first(name: str, cls: type[T]) -> T:
    return all_blocks(name, cls)[0]


@pytest.mark.parametrize("union", [ContentBlock, Citation, Source], ids=["block", "citation", "source"])
def test_every_member_of_the_union_is_reached_by_a_golden_line(union: Any) -> None:
    assert members(union) - {type(value) for value in golden.values()} == set()


def test_every_block_result_and_error_is_reached_by_a_golden_line() -> None:
    assert set(golden.structs(blocks)) - {type(value) for value in golden.values()} == {blocks.BlockBase}


def test_every_field_of_blocks_is_set_by_a_golden_line() -> None:
    declared = golden.fields_declared(blocks)

    assert declared - golden.fields_set(golden.values()) == set()


def test_is_error_may_be_absent_null_false_or_true() -> None:
    results = all_blocks("tool-result-is-error", ToolResultBlock)

    assert [result.is_error for result in results] == [UNSET, None, False, True]


def test_the_content_of_a_result_is_text_blocks_null_or_absent() -> None:
    results = all_blocks("tool-result-content", ToolResultBlock)

    assert [result.content for result in results] == ["text", (TextBlock(text="block"),), (), None, UNSET]


def test_a_result_may_hold_every_block_that_the_api_allows_there() -> None:
    result = first("tool-result-blocks", ToolResultBlock)

    assert isinstance(result.content, tuple)
    assert [type(block) for block in result.content] == [
        ImageBlock,
        DocumentBlock,
        blocks.SearchResultBlock,
        blocks.ToolReferenceBlock,
        blocks.BrowserStateBlock,
    ]
    assert result.toolset_name == "browser"
    assert result.cache_control == blocks.CacheControl(type="ephemeral", ttl="5m", scope="session")


def test_a_result_whose_content_is_an_object_stays_visible() -> None:
    line = b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":{"a":1}}]}}'
    decoded = turnlog.decode(line)
    [problem] = decoded.problems

    assert isinstance(decoded.entry, UserEntry)
    assert decoded.entry.message.content == (ToolResultBlock(tool_use_id="t"),)
    assert problem.path == "$.message.content[0].content"
    assert problem.unknown == turnlog.Unknown(b'{"a":1}')
    assert turnlog.encode(decoded) == line


def test_thinking_may_be_empty_or_unsigned() -> None:
    thoughts = all_blocks("block-thinking", ThinkingBlock)

    assert [(thought.thinking, thought.signature) for thought in thoughts] == [
        ("Which pot?", "c2ln"),
        ("", "c2ln"),
        ("unsigned", UNSET),
    ]


def test_a_call_says_who_made_it() -> None:
    model, code = all_blocks("block-tool-use", ToolUseBlock)

    assert (model.id, model.name, model.toolset_name) == ("toolu_10", "Read", "files")
    assert isinstance(model.input, Raw)
    assert bytes(model.input) == b'{"file_path":"/tea.md"}'
    assert model.caller == blocks.Caller(type="direct")
    assert code.caller == blocks.Caller(type="code_execution_20250825", tool_id="srvtoolu_01")


def test_an_image_comes_as_bytes_an_address_or_a_file() -> None:
    assert [image.source for image in all_blocks("block-image-sources", ImageBlock)] == [
        blocks.Base64Source(media_type="image/webp", data="AA=="),
        blocks.UrlSource(url="https://example.com/p.png"),
        blocks.FileSource(file_id="file_3"),
    ]


def test_a_document_comes_from_every_source() -> None:
    documents = all_blocks("block-document-sources", DocumentBlock)

    assert [type(document.source) for document in documents] == [
        blocks.Base64Source,
        blocks.TextSource,
        blocks.ContentSource,
        blocks.ContentSource,
        blocks.UrlSource,
    ]
    assert documents[0].citations == blocks.CitationsConfig(enabled=True)
    assert (documents[1].title, documents[1].citations) == (None, None)


def test_citations_say_where_a_statement_comes_from() -> None:
    cited, uncited = all_blocks("block-text-citations", TextBlock)

    assert isinstance(cited.citations, tuple)
    chars, pages, *_, web = cited.citations
    assert isinstance(chars, blocks.CharLocation)
    assert (chars.start_char_index, chars.end_char_index) == (1, 6)
    assert isinstance(pages, blocks.PageLocation)
    assert pages.document_title is None
    assert isinstance(web, blocks.WebSearchResultLocation)
    assert web.encrypted_index == "ZW4="
    assert uncited.citations is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web-search-error", blocks.WebSearchError),
        ("web-fetch-result", blocks.WebFetchResult),
        ("web-fetch-error", blocks.WebFetchError),
        ("advisor-result", blocks.AdvisorResult),
        ("advisor-redacted-result", blocks.AdvisorRedactedResult),
        ("advisor-error", blocks.AdvisorError),
        ("code-execution-result", blocks.CodeExecutionResult),
        ("code-execution-encrypted-result", blocks.EncryptedCodeExecutionResult),
        ("code-execution-error", blocks.CodeExecutionError),
        ("bash-code-execution-result", blocks.BashCodeExecutionResult),
        ("bash-code-execution-error", blocks.BashCodeExecutionError),
        ("text-editor-view", blocks.TextEditorViewResult),
        ("text-editor-create", blocks.TextEditorCreateResult),
        ("text-editor-str-replace", blocks.TextEditorStrReplaceResult),
        ("text-editor-error", blocks.TextEditorError),
        ("tool-search-result", blocks.ToolSearchResult),
        ("tool-search-error", blocks.ToolSearchError),
    ],
)
def test_a_server_tool_answers_with_a_result_or_an_error(name: str, expected: type) -> None:
    [[block]] = contents(f"block-{name}")
    content: Any = getattr(block, "content", None)

    if name.endswith("error"):
        assert (content.error_code, content.error_message) == ("unavailable", "not now")
    assert getattr(block, "tool_use_id", None) == "srvtoolu_01"
    assert type(content) is expected


def test_a_web_search_finds_pages_or_none() -> None:
    found, empty = all_blocks("block-web-search-result", blocks.WebSearchToolResultBlock)

    assert isinstance(found.content, tuple)
    assert [page.url for page in found.content] == ["https://example.com"]
    assert empty.content == ()


def test_a_fallback_names_its_models_as_objects_or_words() -> None:
    objects, words = all_blocks("block-fallback", blocks.FallbackBlock)

    assert objects.from_model == blocks.FallbackModel(model="claude-opus-4-1")
    assert words.to_model == "claude-sonnet-4-5"


UNKNOWN = (
    b'{"type":"assistant","message":{"content":[{"type":"text","text":"a"},'
    b'{"type":"hologram","x":1},{"type":"text","text":"b"}]},"uuid":"u-1"}'
)


def test_an_unknown_block_is_kept_between_its_typed_neighbours() -> None:
    decoded = turnlog.decode(UNKNOWN)
    unknown = UnknownBlock(b'{"type":"hologram","x":1}', "hologram")
    [problem] = decoded.problems

    assert isinstance(decoded.entry, AssistantEntry)
    assert decoded.entry.message.content == (TextBlock(text="a"), unknown, TextBlock(text="b"))
    assert (problem.kind, problem.path) == (ProblemKind.UNKNOWN_TYPE, "$.message.content[1]")
    assert problem.unknown == unknown
    assert turnlog.encode(decoded) == UNKNOWN


def test_strictness_raises_for_an_unknown_block_and_says_what_and_where() -> None:
    with pytest.raises(UnknownTypeError) as caught:
        turnlog.decode(UNKNOWN, strict=True)

    assert caught.value.found == "`hologram`"
    assert caught.value.path == "$.message.content[1]"
    assert caught.value.offset == UNKNOWN.index(b'{"type":"hologram"')
