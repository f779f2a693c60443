"""A scripted stand-in for the model's API, so that the real program can be recorded without a model.

It speaks as much of the Messages API as the program needs: answers as server-sent events (or whole, if asked
so), errors, and answers that never end. What it says depends only on what was said since the model last spoke:
of all replies whose cue stands there, the one whose cue stands last. So parallel agents get what is theirs, and
the order of a script matters only between replies to the same cue: they are given in turn, the last for good.

Usage figures differ from answer to answer, and every answer goes to a ledger: what was served, and so what must
have been paid. Requests are limited in number; what is asked beyond that, or off the script, is refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = Mapping[str, object]

_LIMIT = 100
_STALL_SECONDS = 20
_REFUSED = 400


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def thinking(words: str) -> Block:
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmVk"}


def call(identity: str, name: str, **arguments: object) -> Block:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


@dataclass(frozen=True)
class Reply:
    """What the model says when it is given a cue."""

    cue: str
    """Stands in what was said since the model last spoke; the empty one stands before all others."""
    blocks: tuple[Block, ...] = ()
    usage: Mapping[str, object] = field(default_factory=dict)
    """Figures that matter to the script; the others are made up."""
    status: int = 200
    """Any other is an error, and all of the answer."""
    stalls: bool = False
    """Say everything but that it is the end."""


@dataclass
class Served:
    """One request, and what became of it."""

    number: int
    path: str
    model: str = ""
    cue: str | None = None
    """None if nothing in the script fits."""
    status: int = 200
    message: str = ""
    usage: Mapping[str, object] = field(default_factory=dict)
    """As of the end of the answer."""
    finished: bool = False


class StandIn:
    """The server, and the ledger of what it served."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies: dict[str, list[Reply]] = {}
        for reply in replies:
            self._replies.setdefault(reply.cue, []).append(reply)
        self._served: list[Served] = []
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Bound", (_Handler,), {"stand_in": self}))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> StandIn:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def list_served(self) -> list[dict[str, object]]:
        """Return the ledger, in the order of requests."""
        with self._lock:
            return [asdict(each) for each in self._served]

    def note(self, path: str, model: str) -> Served:
        """Enter a request into the ledger."""
        with self._lock:
            served = Served(len(self._served) + 1, path, model)
            self._served.append(served)
            return served

    def choose(self, served: Served, request: Mapping[str, Any]) -> Reply | None:
        """Return the next reply to the cue that stands last in what was said since the model last spoke."""
        said = _said_since(request["messages"])
        places = {cue: said.rfind(cue) if cue else 0 for cue in self._replies}
        cue = max(places, key=lambda each: places[each])
        if places[cue] < 0 or served.number > _LIMIT:
            served.status = _REFUSED
            return None
        with self._lock:
            replies = self._replies[cue]
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
        served.cue, served.status = cue, reply.status
        return reply


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    stand_in: StandIn

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the ledger has it."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.stand_in.note(self.path, "").status = 404
        self._send(404, {})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        path = self.path.partition("?")[0]
        served = self.stand_in.note(path, request.get("model", ""))
        if path == "/v1/messages/count_tokens":
            self._send(200, {"input_tokens": 1000})
        elif path == "/v1/messages":
            self._answer(served, request)
        else:
            served.status = 404
            self._send(404, {})

    def _answer(self, served: Served, request: Mapping[str, Any]) -> None:
        reply = self.stand_in.choose(served, request)
        if reply is None or served.status != 200:
            problem = {"type": "overloaded_error" if served.status > 500 else "invalid_request_error"}
            self._send(served.status, {"type": "error", "error": {**problem, "message": "as the script wants"}})
            return
        message = _message(served, reply)
        try:
            if request.get("stream"):
                self._stream(_events(message), served, reply.stalls)
            else:
                self._send(200, message)
                served.finished = True
        except (BrokenPipeError, ConnectionResetError):
            pass  # the program was interrupted, which the ledger shows

    def _stream(self, events: Iterator[Mapping[str, object]], served: Served, stalls: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("request-id", f"req_{served.number:03}")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            if stalls and event["type"] == "message_delta":
                self.stand_in.stopped.wait(_STALL_SECONDS)
                return
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        served.finished = True

    def _send(self, status: int, body: Mapping[str, object]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _said_since(messages: Sequence[Mapping[str, Any]]) -> str:
    last = max((index for index, each in enumerate(messages) if each["role"] == "assistant"), default=-1)
    return json.dumps(messages[last + 1 :])


def _message(served: Served, reply: Reply) -> dict[str, object]:
    served.message = f"msg_{served.number:03}"
    served.usage = {**_usage(served.number), **reply.usage}
    calls = any(block["type"] == "tool_use" for block in reply.blocks)
    return {
        "id": served.message,
        "type": "message",
        "role": "assistant",
        "model": served.model,
        "content": list(reply.blocks),
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": served.usage,
    }


def _usage(number: int) -> dict[str, object]:
    """Return figures that no other answer has, so that one counted twice or not at all shows."""
    short, long = 100 + number, 200 + 3 * number
    return {
        "input_tokens": 1000 + 7 * number,
        "cache_creation_input_tokens": short + long,
        "cache_read_input_tokens": 5000 + 11 * number,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
        "output_tokens": 50 + number,
        "service_tier": "standard",
        "server_tool_use": {"web_search_requests": 0},
    }


def _events(message: Mapping[str, Any]) -> Iterator[Mapping[str, object]]:
    """Yield a message as the API streams it: output tokens and the reason of the stop come last."""
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(message["content"]):
        empty, deltas = _pieces(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    change = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    yield {"type": "message_delta", "delta": change, "usage": usage}
    yield {"type": "message_stop"}


def _pieces(block: Mapping[str, Any]) -> tuple[Block, list[Block]]:
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            words = {"type": "thinking_delta", "thinking": block["thinking"]}
            sign = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [words, sign]
        case _:
            whole = json.dumps(block["input"])
            half = len(whole) // 2
            parts = (whole[:half], whole[half:])
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": part} for part in parts
            ]
