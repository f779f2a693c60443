"""A session with a secret of every kind in every place; they are put together here, and stand in no file."""

from __future__ import annotations

import base64
import json
import random
import string
from pathlib import Path

USER = "mkowalczyk"
HOME = f"/home/{USER}"
EMAIL = f"{USER}@widgets-and-more.io"
_SESSION = "5d1c2a7e-3f44-4c0e-9d7b-8a6f1e2b3c4d"
_dice = random.Random(20)


def _letters(count: int, signs: str = string.ascii_letters + string.digits) -> str:
    return "".join(_dice.choice(signs) for _ in range(count))


def list_secrets() -> dict[str, str]:
    """Return made-up secrets by what they are, with what stands around them in a text."""
    low = string.ascii_lowercase + string.digits
    jwt = ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": _letters(12), "exp": 1_999_999_999})
    )
    return {
        "anthropic": "sk-ant-" + "api03-" + _letters(93) + "AA",
        "openai": "sk-" + "proj-" + _letters(48),
        "github": "gh" + "p_" + _letters(36),
        "github-fine": "github" + "_pat_" + _letters(22) + "_" + _letters(59),
        "gitlab": "glpat" + "-" + _letters(20),
        "aws": "AK" + "IA" + _letters(16, string.ascii_uppercase + "234567"),
        "slack": "xox" + "b-" + "123456789012-1234567890123-" + _letters(24),
        "google": "AI" + "za" + _letters(35),
        "stripe": "sk_" + "live_" + _letters(24),
        "npm": "np" + "m_" + _letters(36),
        "hugging-face": "hf" + "_" + _letters(34, string.ascii_letters),
        "sendgrid": "SG" + "." + _letters(22) + "." + _letters(43),
        "digital-ocean": "dop" + "_v1_" + _letters(64, "0123456789abcdef"),
        "jwt": f"{jwt}.{_letters(43)}",
        "password": "Tr0ub4dor" + "&" + _letters(6),
        "aws-secret": _letters(40, string.ascii_letters + string.digits + "/+"),
        "database": _letters(14, low),
    }


def list_sentences(secrets: dict[str, str]) -> list[str]:
    """Return texts in which the secrets stand as people and programs write them."""
    named = {"password", "aws-secret", "database"}
    found = [f"export KEY={value} # {name}" for name, value in secrets.items() if name not in named]
    found += [f'the key is "{value}".' for name, value in secrets.items() if name not in named]
    found += [
        f'DB_PASSWORD="{secrets["password"]}"',
        f'{{"password": "{secrets["password"]}", "user": "app"}}',
        f"aws_secret_access_key = {secrets['aws-secret']}",
        f"postgres://app:{secrets['database']}@db.internal:5432/app",
        f"curl -H 'Authorization: Bearer {secrets['github']}' https://api.widgets.io",
        f"curl -u app:{secrets['database']} https://api.widgets.io",
        _make_private_key(),
        f"mail {EMAIL} about {HOME}/projects/shop",
    ]
    return found


def write_planted(folder: Path, secrets: dict[str, str]) -> Path:
    """Write the session's files, and return the path of its transcript."""
    lines: list[dict[str, object]] = []
    agent: list[dict[str, object]] = []
    for number, text in enumerate(list_sentences(secrets)):
        lines += _make_exchange(number, text)
        agent.append(_say("user" if not number else "assistant", f"a{number}", text, sidechain=True))
    lines.append({"type": "custom-title", "customTitle": f"Rotate {secrets['github']}", "sessionId": _SESSION})
    path = folder / f"-home-{USER}-shop" / f"{_SESSION}.jsonl"
    beside = path.with_suffix("") / "subagents" / "agent-77aa.jsonl"
    for target, content in ((path, lines), (beside, agent)):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(json.dumps(line) + "\n" for line in content))
    return path


def _make_exchange(number: int, text: str) -> list[dict[str, object]]:
    """Return a prompt, an answer that thinks and calls tools, and what those said: the text is in each."""
    call, edit = f"toolu_{number:04}a", f"toolu_{number:04}b"
    escaped = json.dumps({"stdout": text, "nested": json.dumps({"inner": text})})
    diff = "\n".join(f"+{line}" for line in text.split("\n"))
    content: list[dict[str, object]] = [
        {"type": "thinking", "thinking": f"They say {text}", "signature": ""},
        {"type": "text", "text": f"I see `{text}` there."},
        {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"echo {text}"}},
        {
            "type": "tool_use",
            "id": edit,
            "name": "Edit",
            "input": {"file_path": f"{HOME}/shop/.env", "old_string": "X", "new_string": text},
        },
    ]
    results: list[dict[str, object]] = [
        {"type": "tool_result", "tool_use_id": call, "content": escaped},
        {"type": "tool_result", "tool_use_id": edit, "content": diff},
    ]
    answer = _say("assistant", f"b{number}", "", parent=f"p{number}")
    answer["message"] = {
        "role": "assistant",
        "id": f"msg_{number}",
        "model": "claude-opus-5",
        "content": content,
    }
    result = _say("user", f"r{number}", "", parent=f"b{number}")
    result["message"] = {"role": "user", "content": results}
    result["toolUseResult"] = {"stdout": text, "stderr": "", "interrupted": False}
    return [_say("user", f"p{number}", f"Please look: {text}"), answer, result]


def _say(
    kind: str, uuid: str, text: str, *, parent: str | None = None, sidechain: bool = False
) -> dict[str, object]:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": _SESSION,
        "timestamp": "2026-10-01T10:00:00.000Z",
        "cwd": f"{HOME}/shop",
        "gitBranch": "main",
        "version": "2.1.300",
        "userType": "external",
        "isSidechain": sidechain,
        "message": {"role": kind, "content": text},
    }


def _make_private_key() -> str:
    rows = "\n".join(_letters(64, string.ascii_letters + string.digits + "+/") for _ in range(12))
    kind = "RSA PRIVATE" + " KEY"
    return f"-----BEGIN {kind}-----\n{rows}\n-----END {kind}-----"
