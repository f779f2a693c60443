"""From what happens in a sample session to the lines that Claude Code would write.

A play calls the stage step by step; the stage keeps the time, the ids and the token counts. Everything follows
from the play and from when it begins, so the same play gives the same lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

_SPACE = UUID("6f1d3c1e-6f0b-5e0a-9f3e-0d5a4d2b7c11")
_VERSION = "2.1.325"
_CONTEXT = 14_200
"""Tokens that every session begins with."""


class Stage:
    """One file of lines in the making."""

    def __init__(
        self,
        name: str,
        *,
        project: str,
        begins: datetime,
        model: str = "claude-opus-4-5",
        branch: str = "main",
        agent_id: str | None = None,
        of: Stage | None = None,
    ) -> None:
        """Begin; `name` tells plays apart, `of` is the stage whose session a sub-agent's file belongs to."""
        self.name = name
        self.project = project
        self.branch = branch
        self.model = model
        self.now = begins
        self.session_id: str = str(uuid5(_SPACE, name)) if of is None else of.session_id
        self.agent_id = agent_id
        self.lines: list[tuple[datetime, bytes]] = []
        """Each with when it is written."""
        self.hooks: list[tuple[datetime, bytes]] = []
        """What hooks were told, each with when."""
        self.agents: list[tuple[Stage, dict[str, Any]]] = []
        """Stages of sub-agents, with what lies beside their files."""
        self._count = 0
        self._answers = 0
        self._context = _CONTEXT
        self._parent: str | None = None
        self._answer: tuple[str, int] | None = None

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def hook(self, event: str, **told: object) -> None:
        """Let a hook be told of an event."""
        base = {"session_id": self.session_id, "cwd": self.project, "permission_mode": "default"}
        payload = {**base, "hook_event_name": event, **told}
        self.hooks.append((self.now, json.dumps(payload).encode()))

    def title(self, text: str) -> None:
        """Name the session, as the program does by itself."""
        self._write({"type": "ai-title", "aiTitle": text, "sessionId": self.session_id})

    def prompt(self, text: str, *, after: float = 20.0, behind: str | None = None) -> str:
        """Type a prompt; `behind` an earlier line it is an edited one, and begins a branch."""
        self.wait(after)
        if behind is not None:
            self._parent = behind
        self._answer = None
        self._context += _tokens(text)
        message = {"role": "user", "content": text}
        return self._tell({"type": "user", "message": message, "permissionMode": "default"})

    @property
    def last(self) -> str | None:
        """The uuid of the last line."""
        return self._parent

    def think(self, text: str, *, after: float = 3.0) -> None:
        """Think aloud; what the model thinks belongs to the answer that follows."""
        self._say([{"type": "thinking", "thinking": text, "signature": ""}], after)

    def say(self, text: str, *, after: float = 4.0, ends: bool = True) -> None:
        """Answer; unless it `ends`, calls follow in the same answer."""
        self._say([{"type": "text", "text": text}], after, stop="end_turn" if ends else "tool_use")
        if ends:
            self._answer = None

    def call(
        self,
        tool: str,
        given: Mapping[str, object],
        answer: str | None,
        *,
        took: float = 0.4,
        failed: bool = False,
        details: object = None,
        agent: Stage | None = None,
    ) -> str:
        """Call a tool, and return the call's id; without an `answer` it is running, or waits for somebody."""
        number = self._count
        identity = f"toolu_{uuid5(_SPACE, f'{self._key()}/{number}').hex[:24]}"
        self._say(
            [{"type": "tool_use", "id": identity, "name": tool, "input": dict(given)}], 1.2, stop="tool_use"
        )
        asked = self._parent
        self._answer = None
        if agent is not None:
            self.agents.append((agent, {"agentType": given.get("subagent_type"), "toolUseId": identity}))
            self.now = max(self.now, agent.now)
        if answer is None:
            return identity
        self.wait(took)
        self._context += _tokens(answer)
        block = {"tool_use_id": identity, "type": "tool_result", "content": answer} | (
            {"is_error": True} if failed else {}
        )
        line: dict[str, object] = {"type": "user", "message": {"role": "user", "content": [block]}}
        if details is not None or failed:
            line["toolUseResult"] = f"Error: {answer}" if failed else details
        self._tell(line | {"sourceToolAssistantUUID": asked})
        return identity

    def agent(self, kind: str, begins: datetime) -> Stage:
        """Return the stage of a sub-agent; `call` with it as `agent` when it is done."""
        identity = uuid5(_SPACE, f"{self._key()}/agent/{kind}/{len(self.agents)}").hex[:17]
        return Stage(
            f"{self.name}/{identity}",
            project=self.project,
            begins=begins,
            model=self.model,
            branch=self.branch,
            agent_id=identity,
            of=self,
        )

    def interrupt(self) -> None:
        """Press Esc."""
        text = {"type": "text", "text": "[Request interrupted by user]"}
        self._tell({"type": "user", "message": {"role": "user", "content": [text]}})
        self._answer = None

    def compact(self, summary: str, tokens: int) -> None:
        """Make the conversation shorter."""
        metadata = {"trigger": "auto", "preTokens": tokens}
        logical, self._parent = self._parent, None
        self._tell(
            {
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "level": "info",
                "logicalParentUuid": logical,
                "compactMetadata": metadata,
            }
        )
        self._context = _CONTEXT + _tokens(summary)
        self._tell(
            {
                "type": "user",
                "message": {"role": "user", "content": summary},
                "isCompactSummary": True,
                "isVisibleInTranscriptOnly": True,
            }
        )

    def _say(self, blocks: list[dict[str, object]], after: float, stop: str | None = None) -> None:
        """Write a line of an answer: one block each, all under the id of the answer."""
        self.wait(after)
        spoken = sum(_tokens(json.dumps(block)) for block in blocks)
        if self._answer is None:
            self._answers += 1
            self._answer = f"msg_{uuid5(_SPACE, f'{self._key()}/answer/{self._answers}').hex[:24]}", 0
        identity, before = self._answer
        output = before + spoken
        self._answer = identity, output
        fresh = 900 + self._context % 700
        usage = {
            "input_tokens": 6,
            "cache_creation_input_tokens": fresh,
            "cache_read_input_tokens": self._context,
            "cache_creation": {"ephemeral_5m_input_tokens": fresh, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
            "service_tier": "standard",
        }
        message = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        self._context += spoken
        self._tell({"type": "assistant", "message": message, "requestId": f"req_{identity[4:]}"})

    def _tell(self, line: dict[str, object]) -> str:
        """Write a line with the envelope that lines of a conversation have."""
        uuid = str(uuid5(_SPACE, f"{self._key()}/line/{self._count}"))
        envelope: dict[str, object] = {
            "parentUuid": self._parent,
            "isSidechain": self.agent_id is not None,
            "userType": "external",
            "cwd": self.project,
            "sessionId": self.session_id,
            "version": _VERSION,
            "gitBranch": self.branch,
        }
        if self.agent_id is not None:
            envelope["agentId"] = self.agent_id
        self._write(envelope | line | {"uuid": uuid, "timestamp": _time(self.now)})
        self._parent = uuid
        return uuid

    def _write(self, line: dict[str, object]) -> None:
        self._count += 1
        self.lines.append((self.now, json.dumps(line, ensure_ascii=False).encode() + b"\n"))

    def _key(self) -> str:
        return self.name


def _tokens(text: str) -> int:
    return max(1, len(text) // 4)


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
