"""The command line: which commands there are, and how every one of them ends.

Only what `--help` needs is imported here; a command's module is imported when it is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from schemas import __version__
from viewer.output import ending, fail, pipe_closed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "list": "List sessions.",
    "show": "Print a session.",
    "diff": "Show what a session changed in files.",
    "why": "Say from which prompt a line of a file came.",
    "tail": "Follow a session as it grows.",
    "watch": "Watch the sessions that run, and who waits for you.",
    "export": "Write a session as a document.",
    "usage": "Count tokens and what they cost.",
    "cache": "List the breaks of the prompt cache and what they cost.",
    "compare": "Compare two sessions.",
    "search": "Search all sessions.",
    "index": "Say what the index of all sessions holds, or delete it.",
    "events": "Write what model calls used as Normalized Events.",
    "snapshot": "Write a month's use and cost as a UI Snapshot.",
    "validate": "Check a document against its format.",
    "agents": "List the agents whose sessions can be read.",
    "doctor": "Say where turnlog looks and what it finds.",
    "completion": "Print what lets a shell complete commands, options and session ids.",
    "demo": "Browse the bundled example sessions.",
}
"""Each is viewer/commands/NAME.py; the words are those of `turnlog --help`."""

DEFAULT = "open"
"""What a first argument that is no command is an argument of."""

HELP = """Read, follow and export what your coding agents did.

\b
turnlog            browse this machine's sessions
turnlog TARGET     open one session

TARGET is a path, a session id or the beginning of one, `latest` (the newest session of `turnlog list`, whatever its
directory), or `-` for standard input. TARGET#3 is its third exchange, TARGET#3.2 the second message in that. Without a
terminal on standard output the session is printed as plain text."""


class _Commands(click.Group):
    """Commands that are imported when they are called; anything else is a TARGET to open."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS and cmd_name != DEFAULT:
            return None
        command: click.Command = import_module(f"viewer.commands.{cmd_name}").command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # A place on standard input, `-#2`, looks like an option.
        places = [arg for arg in args if arg.startswith("-#")]
        if places and "--" not in args:
            args = [*(arg for arg in args if arg not in places), "--", *places]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in COMMANDS:
            return super().resolve_command(ctx, args)
        # What stands behind `--` is a target even when it looks like an option.
        escape = ["--"] if args[0].startswith("-") and args[0] != "-" else []
        return DEFAULT, self.get_command(ctx, DEFAULT), escape + args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # Click would import every command for its first line.
        from click.shell_completion import CompletionItem

        from viewer.completion import sessions

        names = [CompletionItem(name, help=words) for name, words in COMMANDS.items() if name.startswith(incomplete)]
        return [*sessions(incomplete), *names, *click.Command.shell_complete(self, ctx, incomplete)]

    # A closed pipe is met here, since click would end with code 1, which says "no".

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:  # in the midst of --help
            raise click.exceptions.Exit(pipe_closed()) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return pipe_closed()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Click would import every command for its first line.
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=_Commands,
    help=HELP,
    invoke_without_command=True,
    subcommand_metavar="[TARGET | COMMAND …]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="turnlog %(version)s")
@click.pass_context
def turnlog(ctx: click.Context) -> int | None:
    """See HELP."""
    if ctx.invoked_subcommand is not None:
        return None
    command: click.Command = import_module(f"viewer.commands.{DEFAULT}").command
    return ctx.invoke(command)  # type: ignore[no-any-return]


def run(args: list[str]) -> int:
    """Do what the arguments say; returns the exit code."""
    return ending(lambda: _run(args))


def _run(args: list[str]) -> object:
    try:
        return turnlog.main(args, prog_name="turnlog", standalone_mode=False)
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "turnlog"
        return fail(f"{error.format_message().rstrip('.')} (see {where.replace(' ' + DEFAULT, '')} --help)")
