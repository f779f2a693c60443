"""The API's message object, as it stands inside an entry: what it used, and who sent it.

One class serves prompts and answers: a prompt uses `role` and `content` only. On disk one answer is often
spread over several lines that share `id`, each with one block; `transcripts` puts them together.

The counters of usage are kept as they stand: which of several lines to believe, and what to leave out, is
decided in `transcripts`. Older and third-party writers leave counters out or write null, so none is required.

One class serves all kinds of senders, because the kinds share their fields and new ones keep coming. Old
writers put the bare kind in place of the object, so a field that holds an origin is `MessageOrigin | str`.
"""

from turnlog.messages.base import UNSET, Camel, OpenEnum, Raw, Snake, UnsetType, field
from turnlog.messages.blocks import ContentBlock, ToolResultBlock, ToolUseBlock

__all__ = [
    "AppliedEdit", "CacheCreation", "CacheMissReason", "Container", "ContainerSkill", "ContextManagement",
    "Counters", "Diagnostics", "InputTransformation", "Iteration", "Message", "MessageError", "MessageOrigin",
    "OriginKind", "OutputConfig", "OutputTokensDetails", "SafeguardOutcome", "SafeguardResult",
    "SafeguardStatus", "ServerToolUse", "StopDetails", "StopReason", "Usage",
]  # fmt: skip


class CacheCreation(Snake):
    """Cache writes, by how long they live."""

    ephemeral_5m_input_tokens: int | UnsetType = UNSET
    ephemeral_1h_input_tokens: int | UnsetType = UNSET


class ServerToolUse(Snake):
    """Billed calls of tools that run on the API's side."""

    web_search_requests: int | UnsetType = UNSET
    web_fetch_requests: int | UnsetType = UNSET


class OutputTokensDetails(Snake):
    """What the output tokens consist of."""

    thinking_tokens: int | None | UnsetType = UNSET


class Counters(Snake):
    """The counters that a whole message and each of its iterations share."""

    input_tokens: int | None | UnsetType = UNSET
    cache_creation_input_tokens: int | None | UnsetType = UNSET
    cache_read_input_tokens: int | None | UnsetType = UNSET
    cache_creation: CacheCreation | None | UnsetType = UNSET
    output_tokens: int | None | UnsetType = UNSET


class Iteration(Counters):
    """One sampling of a message that took several."""

    type: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    output_tokens_details: OutputTokensDetails | None | UnsetType = UNSET


class Usage(Counters):
    """What one API response used."""

    server_tool_use: ServerToolUse | None | UnsetType = UNSET
    service_tier: str | None | UnsetType = UNSET
    inference_geo: str | None | UnsetType = UNSET
    iterations: tuple[Iteration, ...] | None | UnsetType = UNSET
    speed: str | None | UnsetType = UNSET
    output_tokens_details: OutputTokensDetails | None | UnsetType = UNSET
    fallback_credit: Raw | UnsetType = UNSET


class OriginKind(OpenEnum):
    """What sort of sender it was."""

    HUMAN = "human"
    CHANNEL = "channel"
    PEER = "peer"
    TASK_NOTIFICATION = "task-notification"
    COORDINATOR = "coordinator"
    UNCLASSIFIED = "unclassified"
    OBSERVER = "observer"
    OBSERVER_ACTIVITY = "observer-activity"
    AUTO_CONTINUATION = "auto-continuation"


class MessageOrigin(Camel):
    """Who sent a message, and by which way it came."""

    kind: OriginKind | UnsetType = UNSET
    server: str | None | UnsetType = UNSET
    """The server of a channel."""
    sender: str | None | UnsetType = field(name="from", default=UNSET)
    """The agent or session that sent it."""
    from_mode: str | None | UnsetType = UNSET
    """The sender's permission mode: `bypass` or `prompting`."""
    from_session: str | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET
    sender_task_id: str | None | UnsetType = UNSET
    body: str | None | UnsetType = UNSET
    """The sender's own words, without what was put around them for the model."""
    msg_id: str | None | UnsetType = field(name="msg_id", default=UNSET)
    verified_peer_pid: int | None | UnsetType = UNSET
    hop_chain: tuple[str, ...] | None | UnsetType = UNSET
    """The sessions it passed through."""
    handback: bool | UnsetType = UNSET
    """Whether it is the final report of a sub-agent."""
    subkind: str | None | UnsetType = UNSET
    """What sort of notification: `scheduled-trigger`, `peer-send-message` and the like."""
    producer: str | None | UnsetType = UNSET
    fire_reason: str | None | UnsetType = UNSET
    run_id: str | None | UnsetType = UNSET


class StopReason(OpenEnum):
    """Why the model stopped."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    STOP_SEQUENCE = "stop_sequence"
    TOOL_USE = "tool_use"
    PAUSE_TURN = "pause_turn"
    COMPACTION = "compaction"
    REFUSAL = "refusal"
    MODEL_CONTEXT_WINDOW_EXCEEDED = "model_context_window_exceeded"


class StopDetails(Snake):
    """Why the model refused."""

    type: str | UnsetType = UNSET
    category: str | None | UnsetType = UNSET
    explanation: str | None | UnsetType = UNSET
    fallback_credit_token: str | None | UnsetType = UNSET
    fallback_has_prefill_claim: bool | None | UnsetType = UNSET
    recommended_model: str | None | UnsetType = UNSET


class ContainerSkill(Snake):
    """A skill that was loaded into a container."""

    type: str | UnsetType = UNSET
    skill_id: str | UnsetType = UNSET
    version: str | UnsetType = UNSET


class Container(Snake):
    """The container in which the API executed code."""

    id: str | UnsetType = UNSET
    expires_at: str | None | UnsetType = UNSET
    skills: tuple[ContainerSkill, ...] | None | UnsetType = UNSET


class AppliedEdit(Snake):
    """What the API removed from the context by itself."""

    type: str | UnsetType = UNSET
    cleared_input_tokens: int | UnsetType = UNSET
    cleared_tool_uses: int | UnsetType = UNSET
    cleared_thinking_turns: int | UnsetType = UNSET


class ContextManagement(Snake):
    """The edits that the API applied to the context."""

    applied_edits: tuple[AppliedEdit, ...] | UnsetType = UNSET


class CacheMissReason(Snake):
    """Why the prompt cache was not used."""

    type: str | UnsetType = UNSET
    cache_missed_input_tokens: int | None | UnsetType = UNSET


class Diagnostics(Snake):
    """The API's remarks on a request."""

    cache_miss_reason: CacheMissReason | None | UnsetType = UNSET


class InputTransformation(Snake):
    """A change that the API made to its input."""

    type: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET


class SafeguardOutcome(Snake):
    """What a safety check said of one call."""

    type: str | UnsetType = UNSET
    outcome: str | None | UnsetType = UNSET


class SafeguardStatus(Snake):
    """What a safety check said, call by call."""

    type: str | UnsetType = UNSET
    tool_uses: dict[str, SafeguardOutcome] | UnsetType = UNSET


class SafeguardResult(Snake):
    """The outcome of one safety check."""

    type: str | UnsetType = UNSET
    status: str | SafeguardStatus | None | UnsetType = UNSET


class MessageError(Snake):
    """What went wrong with an answer."""

    type: str | UnsetType = UNSET
    message: str | None | UnsetType = UNSET


class OutputConfig(Snake):
    """How the model was to answer from a message on."""

    effort: str | None | UnsetType = UNSET


class Message(Snake):
    """A prompt or an answer."""

    model: str | None | UnsetType = UNSET
    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    role: str | UnsetType = UNSET
    """`user` or `assistant`; older dialects leave it out."""
    content: str | tuple[ContentBlock, ...] | None | UnsetType = UNSET
    stop_reason: StopReason | None | UnsetType = UNSET
    stop_sequence: str | None | UnsetType = UNSET
    stop_details: StopDetails | None | UnsetType = UNSET
    usage: Usage | None | UnsetType = UNSET
    container: Container | None | UnsetType = UNSET
    context_management: ContextManagement | None | UnsetType = UNSET
    diagnostics: Diagnostics | None | UnsetType = UNSET
    input_transformations: tuple[InputTransformation, ...] | None | UnsetType = UNSET
    safeguard_results: tuple[SafeguardResult, ...] | None | UnsetType = UNSET
    error: MessageError | str | None | UnsetType = UNSET
    """Null, in messages of some versions."""
    output_config: OutputConfig | None | UnsetType = UNSET
    """In kept requests alone."""


class StoredMessage(Message):
    """A message as a stored document has it (spec 003), or the call or result that was taken out of one."""

    tool_use_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    input: Raw | UnsetType = UNSET
    is_error: bool | None | UnsetType = UNSET

    def lift(self) -> Message:
        """Return the message that it is, or one that has the block alone."""
        if self.type == "tool_use":
            name = self.name if isinstance(self.name, str) else ""
            return Message(content=(ToolUseBlock(id=self.id, name=name, input=self.input),))
        if self.type == "tool_result":
            content, failed = self.content, self.is_error
            return Message(
                content=(ToolResultBlock(tool_use_id=self.tool_use_id, content=content, is_error=failed),)
            )
        return Message(**{name: getattr(self, name) for name in Message.__struct_fields__})
