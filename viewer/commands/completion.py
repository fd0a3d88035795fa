"""`turnlog completion`: what lets a shell complete commands, options and session ids."""

from __future__ import annotations

import click

from viewer.output import DONE, write_bytes

_SETUP = """\b
bash, in ~/.bashrc:  eval "$(turnlog completion bash)"
zsh, in ~/.zshrc:    eval "$(turnlog completion zsh)"
fish, once:          turnlog completion fish > ~/.config/fish/completions/turnlog.fish"""


@click.command("completion", epilog=_SETUP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print what lets a shell complete commands, options and the ids of sessions."""
    from click.shell_completion import ShellComplete, get_completion_class

    made = get_completion_class(shell)
    assert made is not None, "click knows these three"
    # Bash's own `source` would run bash to learn its version.
    script = ShellComplete.source(made(ctx.find_root().command, {}, "turnlog", "_TURNLOG_COMPLETE"))
    write_bytes(script.encode() + b"\n")
    return DONE
