"""Tools of services: MCP servers, artifacts, the web, projects on claude.ai, and smaller ones.

What an MCP server's own tool takes and gives is up to the server. A result comes as text, as content blocks in
the API's spelling, as content items in the protocol's own spelling, or as an object of any shape.

Artifacts are pages that an agent publishes, watches and attaches files to. The result of that tool has no
common tag: which action was asked for shows in the one key that only its result has. Files that are attached
to a page are its assets.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, Raw, UnsetType, field

from turnlog.messages.base import Camel, Number, Open, OpenEnum, Snake, UnknownBlock
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.tool_io.files import ArtifactRead

McpInput = dict[str, Raw]
"""The arguments of a server's tool, which only its own JSON Schema describes."""

McpContent = tuple[ContentBlock, ...]
"""A result as content blocks."""

McpObject = dict[str, Raw]
"""A result as a structured object, which only the tool's output schema describes."""


class McpAnnotations(Camel):
    """For whom a content item is, and how much it matters."""

    audience: tuple[str, ...] | UnsetType = UNSET
    priority: Number | UnsetType = UNSET
    last_modified: str | UnsetType = UNSET


class McpItemBase(Camel, tag_field="type"):
    """What every content item of the protocol has: a type and perhaps notes."""

    type: ClassVar[str]
    annotations: McpAnnotations | None | UnsetType = UNSET
    meta: dict[str, Raw] | None | UnsetType = field(name="_meta", default=UNSET)


class McpText(McpItemBase, tag="text"):
    """Text, as the protocol spells it."""

    text: str


class McpImage(McpItemBase, tag="image"):
    """A picture, as the protocol spells it."""

    data: str
    mime_type: str | UnsetType = UNSET


class McpAudio(McpItemBase, tag="audio"):
    """Sound, as the protocol spells it."""

    data: str
    mime_type: str | UnsetType = UNSET


class McpResourceContents(Camel):
    """The contents of a resource: text, or a blob that may have been saved to a file."""

    uri: str
    mime_type: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET
    blob_saved_to: str | UnsetType = UNSET
    meta: dict[str, Raw] | None | UnsetType = field(name="_meta", default=UNSET)


class McpEmbeddedResource(McpItemBase, tag="resource"):
    """A resource with its contents."""

    resource: McpResourceContents


class McpResourceLink(McpItemBase, tag="resource_link"):
    """A resource that can be read."""

    uri: str
    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET


McpItem = Open[McpText | McpImage | McpAudio | McpEmbeddedResource | McpResourceLink, UnknownBlock]

McpItems = tuple[McpItem, ...]
"""A result as content items of the protocol."""


class ListMcpResourcesInput(Snake):
    """A server whose resources to list, or none for all servers."""

    server: str | UnsetType = UNSET


class McpResource(Camel):
    """A resource that a server offers."""

    uri: str
    server: str
    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


ListMcpResourcesResult = tuple[McpResource, ...]


class ReadMcpResourceInput(Snake):
    """A resource to read."""

    server: str
    uri: str


class ReadMcpResourceResult(Camel):
    """A resource's contents."""

    contents: tuple[McpResourceContents, ...]
    error: str | UnsetType = UNSET


class ReadMcpResourceDirInput(Snake):
    """A folder of resources to list."""

    server: str
    uri: str


class McpResourceEntry(Camel):
    """A resource in a folder."""

    uri: str
    name: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET


class ReadMcpResourceDirResult(Camel):
    """A folder of resources."""

    resources: tuple[McpResourceEntry, ...]
    error: str | UnsetType = UNSET


class RefreshMcpToolsInput(Snake):
    """A server whose tools to ask for again, or none for all servers."""

    server: str | UnsetType = UNSET


class RefreshStatus(OpenEnum):
    """How asking a server again went."""

    REFRESHED = "refreshed"
    ERROR = "error"
    NOT_CONNECTED = "not_connected"


class RefreshedServer(Camel):
    """A server that was asked for its tools again."""

    server: str
    status: RefreshStatus
    tool_count: int | UnsetType = UNSET
    added: tuple[str, ...] | UnsetType = UNSET
    removed: tuple[str, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET


RefreshMcpToolsResult = tuple[RefreshedServer, ...]


class WaitForMcpServersInput(Snake):
    """Servers to wait for, or none for all that are still connecting."""

    servers: tuple[str, ...] | UnsetType = UNSET


class ArtifactInput(Snake):
    """Something to do with a published page; without an action, to publish one."""

    action: str | UnsetType = UNSET
    """`publish`, `list`, `read`, `list_types`, `watch`, `unwatch`, `status`, `upload_asset`, `list_assets`,
    `read_asset`, `delete_asset`, `pin` or `unpin`."""
    file_path: str | UnsetType = UNSET
    favicon: str | UnsetType = UNSET
    icon: str | UnsetType = UNSET
    limit: int | UnsetType = UNSET
    page_token: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    """`mine`, `shared` or `all`."""
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    label: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    force: bool | UnsetType = UNSET
    pin: bool | UnsetType = UNSET
    out_dir: str | UnsetType = UNSET
    file_paths: tuple[str, ...] | UnsetType = UNSET
    asset_id: str | UnsetType = UNSET
    after: str | UnsetType = UNSET
    capabilities: dict[str, Raw] | UnsetType = UNSET
    contract: str | UnsetType = UNSET


class ArtifactStored(Camel):
    """What the service keeps of a page's contract."""

    contract: str
    preferred_contract: str | UnsetType = UNSET
    capabilities: dict[str, Raw] | UnsetType = UNSET
    carried: bool | UnsetType = UNSET
    read: str | UnsetType = UNSET


class ArtifactPublishResult(Camel):
    """A page that was published."""

    url: str
    path: str
    artifact_id: str | UnsetType = field(name="artifact_id", default=UNSET)
    title: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    capabilities: Raw | UnsetType = UNSET
    stored: ArtifactStored | UnsetType = UNSET
    warnings: tuple[str, ...] | UnsetType = UNSET
    publishes_remaining: int | UnsetType = UNSET
    publishes_reset_at: Number | UnsetType = UNSET
    contract: str | UnsetType = UNSET
    updated: bool | UnsetType = UNSET
    owned: bool | UnsetType = UNSET
    icon: str | UnsetType = UNSET
    favicon_sent: bool | UnsetType = UNSET
    icon_dropped: bool | UnsetType = UNSET
    audience: str | UnsetType = UNSET
    seq: int | UnsetType = UNSET
    unchanged: bool | UnsetType = UNSET
    live_subscription: str | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET


class ArtifactSummary(Camel):
    """A page as a list shows it."""

    title: str | UnsetType = UNSET
    url: str
    favicon: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    rel: str | UnsetType = UNSET
    """`mine` or `shared`."""
    external: bool | UnsetType = UNSET
    role: str | UnsetType = UNSET
    """`editor`, `commenter`, `reader` or `viewer`."""
    outsiders_may_have_written: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET


class ArtifactListResult(Snake):
    """The pages that there are."""

    artifacts: tuple[ArtifactSummary, ...]
    truncated: bool | UnsetType = UNSET
    total: int | UnsetType = UNSET
    total_at_least: bool | UnsetType = UNSET
    next_page_token: str | UnsetType = UNSET
    pins_enabled: bool | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    external_listed: bool | UnsetType = UNSET


class ArtifactPage(Camel):
    """A page that was fetched."""

    url: str
    bytes: int | UnsetType = UNSET
    code: int | UnsetType = UNSET
    code_text: str | UnsetType = UNSET
    result: str | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET
    title: str | UnsetType = UNSET


class ArtifactReadResult(Camel):
    """A page that was read."""

    read: ArtifactPage
    owned: bool | UnsetType = UNSET
    artifact_read: ArtifactRead | UnsetType = UNSET


class ArtifactWatchState(Snake):
    """How a request to watch a page went."""

    url: str
    watching: bool | UnsetType = UNSET
    outcome: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    durable_skip_reason: str | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    since: Number | UnsetType = UNSET
    token_expires_at: Number | UnsetType = UNSET
    rail: str | UnsetType = UNSET
    trigger_id: str | UnsetType = UNSET
    durable_since: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    note: str | UnsetType = UNSET
    events: tuple[str, ...] | UnsetType = UNSET


class ArtifactWatchResult(Snake):
    """A page that is being watched, or why it is not."""

    watch: ArtifactWatchState


class ArtifactUnwatch(Snake):
    """A page that is no longer watched."""

    url: str
    was_watching: bool | UnsetType = UNSET


class ArtifactUnwatchResult(Snake):
    """The end of a watch."""

    unwatch: ArtifactUnwatch


class ArtifactWatchRail(OpenEnum):
    """By which way a watch is kept; a live one names none."""

    DURABLE_WAKE = "durable_wake"
    LIVE_STOPPED = "live_stopped"


class ArtifactWatch(Snake):
    """A watch that is live, durable or stopped, by its rail."""

    url: str
    rail: ArtifactWatchRail | UnsetType = UNSET
    since: Number | str | UnsetType = UNSET
    """A number for a live watch, a date for a durable one."""
    task_id: str | UnsetType = UNSET
    explicit: bool | UnsetType = UNSET
    connected: bool | UnsetType = UNSET
    connecting: bool | UnsetType = UNSET
    token_expires_at: Number | UnsetType = UNSET
    armed_via: str | UnsetType = UNSET
    trigger_id: str | UnsetType = UNSET
    events: tuple[str, ...] | UnsetType = UNSET
    restored: bool | UnsetType = UNSET
    stop_kind: str | UnsetType = UNSET


class ArtifactArm(Snake):
    """An attempt to start a watch."""

    url: str
    rail: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    reconnect: bool | UnsetType = UNSET
    failures: int | UnsetType = UNSET
    max_failures: int | UnsetType = UNSET
    next_in_s: Number | UnsetType = UNSET
    last_failure: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    server_message: str | UnsetType = UNSET
    at: Number | UnsetType = UNSET


class ArtifactWatchesResult(Snake):
    """All watches."""

    watches: tuple[ArtifactWatch, ...]
    filter_url: str | UnsetType = UNSET
    arms: tuple[ArtifactArm, ...] | UnsetType = UNSET


class ArtifactPin(Snake):
    """A page that was pinned or unpinned."""

    action: str | UnsetType = UNSET
    url: str
    pinned: bool | UnsetType = UNSET
    title: str | UnsetType = UNSET


class ArtifactPinResult(Snake):
    """A change of a pin."""

    pin: ArtifactPin


class WrittenPage(Snake):
    """The page that a change belongs to."""

    url: str


class AssetWriting(Snake):
    """What every change of a page's files says."""

    written: WrittenPage | UnsetType = UNSET
    owned: bool | UnsetType = UNSET


class AssetUpload(Snake):
    """A file that was uploaded."""

    id: str
    url: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    file_name: str | UnsetType = UNSET


class AssetUploadResult(AssetWriting):
    """One file that was attached."""

    asset_upload: AssetUpload


class AssetUploadStatus(OpenEnum):
    """How far one of several files came."""

    UPLOADED = "uploaded"
    FAILED = "failed"
    NOT_ATTEMPTED = "not_attempted"


class AssetUploadOutcome(Snake):
    """One of several files: what it became, or why nothing."""

    file_path: str
    status: AssetUploadStatus
    id: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    file_name: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    may_be_stored: bool | UnsetType = UNSET


class AssetUploads(Snake):
    """Several files for one page."""

    url: str
    results: tuple[AssetUploadOutcome, ...]


class AssetUploadsResult(AssetWriting):
    """Several files that were attached."""

    asset_uploads: AssetUploads


class Asset(Snake):
    """A file attached to a page."""

    id: str
    url: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET


class AssetQuota(Snake):
    """How much of a page's room its files take."""

    files: int | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    max_files: int | UnsetType = UNSET
    max_bytes: int | UnsetType = UNSET


class AssetList(Snake):
    """A page's files."""

    url: str
    assets: tuple[Asset, ...]
    usage: AssetQuota | UnsetType = UNSET
    next: str | UnsetType = UNSET
    cowritten: bool | UnsetType = UNSET
    outside_writer: bool | UnsetType = UNSET


class AssetListResult(Snake):
    """A list of a page's files."""

    asset_list: AssetList


class AssetRead(Snake):
    """A file that was downloaded."""

    id: str
    path: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    cowritten: bool | UnsetType = UNSET
    outside_writer: bool | UnsetType = UNSET
    public_read: bool | UnsetType = UNSET
    foreign: bool | UnsetType = UNSET


class AssetReadResult(Snake):
    """A page's file, saved to disk."""

    asset_read: AssetRead


class AssetDeletion(Snake):
    """A file that was removed."""

    id: str
    deleted: bool | UnsetType = UNSET


class AssetDeleteResult(AssetWriting):
    """The removal of a page's file."""

    asset_delete: AssetDeletion


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
