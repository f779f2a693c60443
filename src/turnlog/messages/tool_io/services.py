"""Tools of services: the web, projects on claude.ai, and smaller ones for review findings, feedback, design,
onboarding, settings and structured output.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Number, Open, Raw, Snake, UnknownBlock, UnsetType
from turnlog.messages.tool_io.files import ArtifactRead


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


class ProjectsInput(Snake):
    """Something to do with the project's documents."""

    method: str
    """`project_info`, `project_read`, `project_search`, `project_write`, `project_delete`,
    `project_memory_list` or `project_memory_read`."""
    path: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    local_path: str | UnsetType = UNSET
    present_to_user: bool | UnsetType = UNSET
    query: str | UnsetType = UNSET
    n: int | UnsetType = UNSET


class ProjectsResultBase(Snake, tag_field="method"):
    """What every result has: the method, and perhaps a notice."""

    method: ClassVar[str]
    notice: str | UnsetType = UNSET


class ProjectDoc(Snake):
    """A document of the project."""

    path: str
    created_at: str | None | UnsetType = UNSET


class ProjectFile(Snake):
    """A file of the project."""

    path: str
    file_kind: str | UnsetType = UNSET
    created_at: str | None | UnsetType = UNSET


class SyncSource(Snake):
    """A service that the project takes documents from."""

    type: str | None | UnsetType = UNSET
    config: dict[str, Raw] | UnsetType = UNSET


class SizeOfKnowledge(Snake):
    """How much of its room the project takes."""

    knowledge_size: Number | UnsetType = UNSET
    max_knowledge_size: Number | UnsetType = UNSET


class ProjectInfoResult(ProjectsResultBase, tag="project_info"):
    """What the project is and holds."""

    name: str
    description: str | UnsetType = UNSET
    instructions: str | UnsetType = UNSET
    docs: tuple[ProjectDoc, ...] | UnsetType = UNSET
    files: tuple[ProjectFile, ...] | UnsetType = UNSET
    sync_sources: tuple[SyncSource, ...] | UnsetType = UNSET
    knowledge: SizeOfKnowledge | UnsetType = UNSET
    local_file: str | UnsetType = UNSET


class ProjectReadResult(ProjectsResultBase, tag="project_read"):
    """A document that was read."""

    path: str
    file_kind: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    local_file: str | UnsetType = UNSET
    created_at: str | None | UnsetType = UNSET


class ProjectHit(Snake):
    """A passage that a search found."""

    name: str | UnsetType = UNSET
    doc_uuid: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    image_attached: bool | UnsetType = UNSET
    page: int | UnsetType = UNSET


class ProjectSearchResult(ProjectsResultBase, tag="project_search"):
    """What a search found: passages, or for a small project its documents' names."""

    rag: bool | UnsetType = UNSET
    hits: tuple[ProjectHit, ...] | UnsetType = UNSET
    docs: tuple[str, ...] | UnsetType = UNSET


class ProjectWriteResult(ProjectsResultBase, tag="project_write"):
    """A document that was written."""

    path: str
    doc_uuid: str | UnsetType = UNSET
    replaced: bool | UnsetType = UNSET
    present_to_user: bool | UnsetType = UNSET
    local_path: str | UnsetType = UNSET


class ProjectDeleteResult(ProjectsResultBase, tag="project_delete"):
    """A document that was deleted."""

    path: str
    deleted: bool | UnsetType = UNSET


class MemoryFile(Snake):
    """A memory as a list shows it."""

    path: str
    size_bytes: int | UnsetType = UNSET
    updated_at: str | None | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


class ProjectMemoryListResult(ProjectsResultBase, tag="project_memory_list"):
    """The project's memories."""

    files: tuple[MemoryFile, ...]
    truncated: bool | UnsetType = UNSET


class ProjectMemoryReadResult(ProjectsResultBase, tag="project_memory_read"):
    """A memory that was read."""

    path: str
    content: str | UnsetType = UNSET
    local_file: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    updated_at: str | None | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


ProjectsResult = Open[
    ProjectInfoResult
    | ProjectReadResult
    | ProjectSearchResult
    | ProjectWriteResult
    | ProjectDeleteResult
    | ProjectMemoryListResult
    | ProjectMemoryReadResult,
    UnknownBlock,
]


StructuredOutputInput = dict[str, Raw]
"""The answer in the shape that the caller's own JSON Schema asks for."""


class Finding(Snake):
    """Something that a code review found."""

    file: str
    line: int | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    short_summary: str | UnsetType = UNSET
    failure_scenario: str | UnsetType = UNSET
    category: str | UnsetType = UNSET
    verdict: str | UnsetType = UNSET
    """`CONFIRMED` or `PLAUSIBLE`."""
    outcome: str | UnsetType = UNSET
    """`fixed`, `skipped` or `no_change_needed`."""


class ReportFindingsInput(Snake):
    """What a code review found."""

    level: str | UnsetType = UNSET
    """`low`, `medium`, `high`, `xhigh` or `max`."""
    findings: tuple[Finding, ...]


class ReportFindingsResult(Snake):
    """What was reported, and how much."""

    count: int
    level: str | UnsetType = UNSET
    findings: tuple[Finding, ...]


class SendFeedbackInput(Snake):
    """Feedback on Claude Code that the agent drafts."""

    type: str | UnsetType = UNSET
    """`bug`, `idea` or `missing_capability`."""
    title: str
    details: str | UnsetType = UNSET
    area: str | UnsetType = UNSET
    failure_mode: str | UnsetType = UNSET
    """`instruction_following`, `code_quality`, `overeager` and the like, or `other`."""
    task_category: str | UnsetType = UNSET
    """`code_edit`, `debug`, `explain`, `plan`, `shell`, `search`, `review` or `other`."""


class SendFeedbackResult(Camel):
    """Whether the feedback was taken."""

    success: bool
    message: str


class ClaudeDesignInput(Snake):
    """An operation of the design service."""

    operation: str
    arguments: dict[str, Raw] | UnsetType = UNSET


class ClaudeDesignResult(Camel):
    """The design service's answer."""

    operation: str
    content: tuple[dict[str, Raw], ...]
    is_error: bool | UnsetType = UNSET


class ShareOnboardingGuideInput(Snake):
    """Something to do with a team's onboarding guide."""

    mode: str
    """`check`, `update`, `create` or `delete`."""
    short_code: str | UnsetType = UNSET


class ShowOnboardingRolePickerInput(Snake):
    """A wish to ask for the user's role; it has no parameters."""


class ShowOnboardingRolePickerResult(Camel):
    """The role that the user chose, if any."""

    role: str | UnsetType = UNSET
    dismissed: bool | UnsetType = UNSET


class OfferChromeSetupInput(Snake):
    """A wish to connect the browser."""

    reason: str | UnsetType = UNSET


class OfferChromeSetupResult(Camel):
    """What became of the wish to connect the browser."""

    outcome: str
    """`connected`, `not_now` or `no_attempt_yet`."""


class EndConversationInput(Snake):
    """The model's wish to end an abusive conversation; it has no parameters."""


class ConfigInput(Snake):
    """A setting to read, or to change."""

    setting: str
    value: str | bool | int | float | UnsetType = UNSET


class ConfigResult(Camel):
    """A setting before and after; its values are of any JSON type."""

    success: bool
    operation: str | UnsetType = UNSET
    """`get` or `set`."""
    setting: str
    value: Raw | UnsetType = UNSET
    previous_value: Raw | UnsetType = UNSET
    new_value: Raw | UnsetType = UNSET
    error: str | UnsetType = UNSET
