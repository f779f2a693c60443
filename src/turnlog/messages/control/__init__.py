"""The control protocol: requests of either side, and their answers, beside the stream of messages.

`ControlRequest` and `ControlResponse` are the frames, `view_message` decodes them. `REQUESTS` lists every
request with its sender and the type of its reply; `view_reply` gives a reply that type. `ControlPeer` is one
side of the conversation.
"""

from turnlog.messages.control import frames, requests
from turnlog.messages.control.frames import *
from turnlog.messages.control.requests import *

__all__: list[str] = []
__all__ += frames.__all__
__all__ += requests.__all__
