"""A small stand-in for Claude Code that speaks its stream and its control protocol, scripted by what it is
told.

`hello` is answered, `ask COMMAND` asks for leave to run a command and says what came of it, `choose` asks a
question, `work` goes on until it is interrupted, `background` leaves a task behind that leads to another turn,
`die` ends it in the middle of a turn. It ends with the status of its first argument when its input ends.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from uuid import uuid4

SESSION = "11111111-2222-4333-8444-555555555555"


class Program:
    """The program."""

    def __init__(self) -> None:
        self.model = "model-1"
        self.numbers = iter(range(1, 1000))

    def emit(self, **message: Any) -> None:
        print(json.dumps(message), flush=True)

    def tell(self, type_: str, **more: Any) -> None:
        self.emit(type=type_, session_id=SESSION, uuid=str(uuid4()), **more)

    def run(self) -> int:
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "control_request":
                self.control(message)
            elif message["type"] == "user":
                self.answer(message["message"]["content"])
        return int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdecimal() else 0

    def control(self, message: dict[str, Any]) -> None:
        request = message["request"]
        if request["subtype"] == "set_model":
            self.model = request["model"]
        if request["subtype"] == "set_permission_mode" and request["mode"] == "bypassPermissions":
            self.reply(message, error="not allowed here")
        else:
            self.reply(message)

    def reply(self, message: dict[str, Any], **body: Any) -> None:
        about = {"subtype": "error" if body else "success", "request_id": message["request_id"]}
        self.emit(type="control_response", response={**about, **(body or {"response": {}})})

    def answer(self, prompt: str) -> None:
        self.tell(
            "system",
            subtype="init",
            cwd="/home/ada/tea",
            tools=["Bash"],
            model=self.model,
            permissionMode="default",
        )
        word, _, rest = prompt.partition(" ")
        match word:
            case "ask":
                self.say(f"You said: {json.dumps(self.ask('Bash', {'command': rest}))}")
            case "choose":
                question = {"question": "Which tea?", "options": [{"label": "Green"}, {"label": "Black"}]}
                self.say(f"You said: {json.dumps(self.ask('AskUserQuestion', {'questions': [question]}))}")
            case "work":
                self.work()
                return
            case "background":
                self.tell("system", subtype="task_started", task_id="t1", description="Brewing")
                self.say("It goes on.")
                self.end()
                self.tell(
                    "system", subtype="task_notification", task_id="t1", status="completed", summary="Brewed"
                )
                self.say("Now it is done.")
            case "die":
                self.say("Going…")
                print("something went wrong \x1b]0;title\x07", file=sys.stderr, flush=True)
                sys.exit(7)
            case "tool":
                self.tool()
            case _:
                self.say(f"Hello from {self.model}.")
        self.end()

    def say(self, text: str) -> None:
        name = f"msg_{next(self.numbers)}"
        events: list[dict[str, Any]] = [
            {
                "type": "message_start",
                "message": {"id": name, "type": "message", "role": "assistant", "content": []},
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
                for part in (text[:3], text[3:])
            ),
        ]
        for event in events:
            self.tell("stream_event", event=event, parent_tool_use_id=None)
        self.block(name, {"type": "text", "text": text})
        self.tell("stream_event", event={"type": "message_stop"}, parent_tool_use_id=None)

    def block(self, name: str, block: dict[str, Any]) -> None:
        message = {"id": name, "type": "message", "role": "assistant", "model": self.model, "content": [block]}
        self.tell("assistant", message=message, parent_tool_use_id=None)

    def tool(self) -> None:
        call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo \x1b[31mred"}}
        self.block("msg_tool", call)
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no\nsuch", "is_error": True}
        self.tell("user", message={"role": "user", "content": [result]}, parent_tool_use_id=None)

    def ask(self, tool: str, given: dict[str, Any]) -> Any:
        request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": "toolu_2"}
        self.emit(type="control_request", request_id="ask-1", request=request)
        while True:
            message = json.loads(sys.stdin.readline())
            if message["type"] == "control_response":
                return message["response"]["response"]
            self.control(message)

    def work(self) -> None:
        self.say("Working…")
        while True:
            message = json.loads(sys.stdin.readline())
            if message["type"] == "control_request":
                self.control(message)
                if message["request"]["subtype"] == "interrupt":
                    break
        self.tell("result", subtype="error_during_execution", is_error=True, errors=["interrupted"])

    def end(self) -> None:
        self.tell("result", subtype="success", is_error=False, duration_ms=1500, total_cost_usd=0.25, result="")


if __name__ == "__main__":
    sys.exit(Program().run())
