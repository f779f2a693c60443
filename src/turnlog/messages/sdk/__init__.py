"""The messages that the SDK and `--output-format stream-json` give out, one JSON object to a line."""

from turnlog.messages.sdk import assembly, messages, stream, system_messages
from turnlog.messages.sdk.assembly import *
from turnlog.messages.sdk.messages import *
from turnlog.messages.sdk.stream import *
from turnlog.messages.sdk.system_messages import *

__all__: list[str] = []
__all__ += assembly.__all__
__all__ += messages.__all__
__all__ += stream.__all__
__all__ += system_messages.__all__
