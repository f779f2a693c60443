"""`turnlog completion`: click's scripts, printed."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from turnlog.cli.program import COMPLETE, NAME, program


@click.command(
    "completion",
    epilog="""\b
Examples:
  turnlog completion bash > ~/.local/share/bash-completion/completions/turnlog
  turnlog completion zsh > ~/.zfunc/_turnlog       # with ~/.zfunc in $fpath
  turnlog completion fish > ~/.config/fish/completions/turnlog.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for a shell."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(program, {}, NAME, COMPLETE).source())
