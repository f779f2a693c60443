"""HEAD wherever there is GET: the same answer, of which the server sends no body."""

from __future__ import annotations

from turnlog.server.asgi import App, Message, Receive, Scope, Send


class Heads:
    """An ASGI application around one that knows only GET."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        # A copy: by the scope's own method, uvicorn knows that nothing of the body goes out.
        asked = {**scope, "method": "GET"}
        ended = False

        async def send_first(message: Message) -> None:
            nonlocal ended
            if ended:
                return
            if message["type"] == "http.response.body":
                if message.get("more_body"):  # of a stream, nothing more is needed
                    message = {**message, "body": b"", "more_body": False}
                ended = True
            await send(message)

        try:
            await self._app(asked, receive, send_first)
        finally:
            if "path_template" in asked:
                scope["path_template"] = asked["path_template"]
