"""The API's message object, as it stands inside an entry.

One class serves prompts and answers: a prompt uses `role` and `content` only. On disk one answer is often
spread over several lines that share `id`, each with one block; `transcripts` puts them together.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, Snake, UnsetType
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.usage import Usage

__all__ = [
    "AppliedEdit",
    "CacheMissReason",
    "Container",
    "ContainerSkill",
    "ContextManagement",
    "Diagnostics",
    "InputTransformation",
    "Message",
    "MessageError",
    "OutputConfig",
    "SafeguardOutcome",
    "SafeguardResult",
    "SafeguardStatus",
    "StopDetails",
    "StopReason",
]


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
