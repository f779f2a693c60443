"""Inputs and results of the built-in tools, as types.

`view_input` and `view_result` give a call's input and a result their types; the types go by the tool's name
(`BashInput`, `BashResult`), and the parts that they are made of stand in the modules, one for each kind of
tool. Models leave out what they should send, and older versions wrote less: a type demands only what
identifies it.
"""

from turnlog.messages.tool_io import agents, files, planning, registry, services, shell
from turnlog.messages.tool_io.agents import *
from turnlog.messages.tool_io.files import *
from turnlog.messages.tool_io.planning import *
from turnlog.messages.tool_io.registry import *
from turnlog.messages.tool_io.services import *
from turnlog.messages.tool_io.shell import *

__all__: list[str] = []
__all__ += agents.__all__
__all__ += files.__all__
__all__ += planning.__all__
__all__ += registry.__all__
__all__ += services.__all__
__all__ += shell.__all__
