"""Tools that find and load other abilities: Skill, SlashCommand, ToolSearch and propose_skills."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Snake, UnsetType


class SkillInput(Snake):
    """A skill to load."""

    skill: str | UnsetType = UNSET
    args: str | UnsetType = UNSET
    command: str | UnsetType = UNSET
    """How early versions spelled `skill`."""


class SlashCommandInput(Snake):
    """A slash command to run; Skill replaced this tool, and its result is a `SkillResult`."""

    command: str


class SkillResult(Camel):
    """A skill that was loaded into the conversation, or ran in an agent of its own."""

    success: bool
    command_name: str
    allowed_tools: tuple[str, ...] | UnsetType = UNSET
    model: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`inline` or `forked`."""
    agent_id: str | UnsetType = UNSET
    result: str | UnsetType = UNSET


class ToolSearchInput(Snake):
    """Words, or `select:` and names, to find tools that are not loaded yet."""

    query: str
    max_results: int | UnsetType = UNSET


class ToolSearchResult(Snake):
    """The names of the tools that were found."""

    matches: tuple[str, ...]
    query: str
    total_deferred_tools: int | UnsetType = UNSET
    pending_mcp_servers: tuple[str, ...] | UnsetType = UNSET


class SkillProposal(Camel):
    """A skill that the agent would write or improve."""

    name: str
    kind: str | UnsetType = UNSET
    """`new` or `improvement`."""
    target: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    evidence: tuple[str, ...] | UnsetType = UNSET
    skill_md: str | UnsetType = UNSET


class ProposeSkillsInput(Snake):
    """Skills to propose to the user."""

    proposals: tuple[SkillProposal, ...]


class ProposeSkillsResult(Camel):
    """How many skills were proposed."""

    proposal_count: int
