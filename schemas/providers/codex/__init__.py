"""OpenAI Codex: rollouts of every era, from the TypeScript program's documents to paginated threads of several files.

`items` says what a record holds, `history` what depends on more than one; `locate` knows the folder and the headers of
rollouts, `thread` the files that make one session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.clean import clean_value
from schemas.diffs import FileDiff
from schemas.message import Tool, ToolStatus
from schemas.path_hints import local_path
from schemas.provider import Environment, Format, Location, Reading, moved_home
from schemas.providers.codex import locate, tools
from schemas.providers.codex.locate import UUID
from schemas.providers.kit.bases import Data, Home, Lines
from schemas.providers.kit.words import Answer, Use
from schemas.published import Published, categories
from schemas.running import Running, Stated, Wait
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    from schemas.session import Session


class Codex(Lines):
    """The agent; items are the transcript, events repeat much of it and add the rest."""

    id = "codex"
    name = "Codex"
    verified = "genuine sessions of 0.21 to 0.142 and 0.171, real ones of 0.118 and 0.148"
    counting = (
        "Codex writes a running total after each round. What a round used is the difference to the total before "
        "it; a repeated total counts for nothing. Its input includes what came from the cache, which is taken "
        "apart here; reasoning is part of the output. What `exec --json` prints is the thread's total so far, which "
        "includes earlier runs where a thread was resumed or forked."
    )
    uncounted: ClassVar[Mapping[str, str]] = {
        "event_msg": "no new tokens in it: the running total said again, or copied from the session this one continues"
    }
    formats: ClassVar[tuple[Format, ...]] = (
        Format(
            "Codex rollout, JSON lines, also compressed with zstd", "a session_meta, response_item, event_msg or such"
        ),
        Format("Codex rollout before 2025-09, JSON lines", "a header with id, timestamp and instructions"),
        Format("Codex's TypeScript program, one JSON document", "an object with session and items"),
    )
    homes = (Home("$CODEX_HOME", "CODEX_HOME"), Home(".codex"))
    tools, foreign = tools.TYPES, tools.FOREIGN
    published = Published(
        names=("codex-cli",),
        categories=categories(
            file_read="read_file read_many_files list_dir view_image mcp_resource",
            file_write="write_file apply_patch replace edit",
            file_search="glob grep_search search_file_content tool_search tool_suggest",
            shell="shell exec_command unified_exec write_stdin js_repl",
            network="web_fetch web_search google_web_search",
            delegation="spawn_agent close_agent wait_agent resume_agent send_message followup_task list_agents"
            " agent_jobs task activate_skill",
        ),
        figures={"context": "inputTokens", "cache_read": "cachedInputTokens", "output": "outputTokens",
                 "reasoning": "reasoningOutputTokens"},
        inclusive=True, steps="codex.steps:CodexSource",
    )  # fmt: skip
    running = Running(
        unseen="/codex (?:app-server|exec-server)|/codex-code-mode-host", headless=" exec(?: |$)", opens=True,
        ends=True, draws=True, variables=("CODEX_THREAD_ID",), questions=("request_user_input",),
    )  # fmt: skip
    silent = frozenset({
        "world_state", "inter_agent_communication_metadata", "security_risk_score", "realtime_item",
        "rollout_reference", "retained_context", "session_state",
    })  # fmt: skip
    marks = (
        b'"payload"', b'"input_text"', b'"output_text"', b'"arguments"', b'"instructions"', b'"record_type"',
        b'"items"',
    )  # fmt: skip
    copies = False  # a fork has one time for all that it copied, also for a prompt typed twice

    detect = staticmethod(locate.detect)
    find = staticmethod(locate.find)
    id_of = staticmethod(locate.file_id)
    stamps = staticmethod(locate.stamps)
    beside = staticmethod(locate.beside)

    def locations(self, env: Environment) -> list[Location]:
        """`CODEX_HOME` alone where it is set, as Codex itself has it, else `.codex` in the home directory."""
        return super().locations(env)[:1]

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a thread. Raises OSError, also for a damaged compressed file."""
        from schemas.providers.codex.thread import open_thread

        return open_thread(self.reader, path, start)

    def resume_command(self, session: Session) -> list[str] | None:
        """`codex resume ID`, for ids that Codex itself makes."""
        return ["codex", "resume", session.id] if UUID.fullmatch(session.id) else None

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """CODEX_HOME, where the rollout lies in another folder than that names, or `~/.codex`. A copy has no home."""
        path = Path(os.path.abspath(path))
        is_laid_out = path.parent.name == locate.ROOTS[1] or locate.DAY.search(path.parent.as_posix())
        homes = [location.path for location in self.locations(env)]
        return moved_home("CODEX_HOME", locate.home_of(path) if is_laid_out else None, homes)

    def stated(self, env: Environment) -> Iterator[Stated]:
        """Read the status of the threads' last turns."""
        return locate.stated(self.locations(env))

    def waits(self, session: Session, index: int, use: str) -> Wait | None:
        """A plan that is proposed at the end of a turn is asked about, which nothing else tells."""
        proposed = not use and any(b"<proposed_plan>" in session.raw(span) for span in session.message_spans(index))
        return Wait.PLAN if proposed else None

    history: ClassVar[Any] = cached_property(lambda self: _reading().Rollout)
    read: Any = cached_property(lambda self: _reading().items.read)
    type: Any = cached_property(lambda self: _reading().items.hidden_as)

    def name_of(self, record: Data) -> str:
        """Return no id: ids repeat in rollouts, and only the place of a record is its own."""
        return ""

    def facts(self, record: Data) -> Data:
        body = dict_of(record.get("payload")) or record
        name = text_of(body.get("id")) or text_of(dict_of(body.get("item")).get("id"))
        return {"item_id": name} if name else {}

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use and its result, with what the events about it know better: exit codes, directories, a refusal."""
        if isinstance(use, tools.Call) and use.item is not None:
            use.input = tools.call_input(use.item)
        tool, facts = super().tool(use, answer, path)
        tool.images = tool.images or list(use.images)
        script, commands = use.name in tools.SCRIPTS, list[str]()
        for one in answer.more if answer is not None else ():
            body = dict_of(one.details)
            tool.exit_code = one.exit_code or (tool.exit_code if tool.exit_code is not None else one.exit_code)
            tool.images = tool.images or list(one.images)
            if one.seconds is not None and (not script or tool.seconds is None):
                tool.seconds = one.seconds
            if one.status in (ToolStatus.ERROR, ToolStatus.DENIED, ToolStatus.INTERRUPTED):
                tool.status = one.status
            if cwd := local_path(text_of(body.get("cwd"))):
                facts["cwd"] = cwd
            if script and (command := tools.command_of(body)):
                commands.append(command)
            if body.get("type") == "guardian_assessment":
                facts["guard"] = " ".join(filter(None, (text_of(body.get("status")), text_of(body.get("rationale")))))
        if script and answer is None:
            commands = tools.commands_in(text_of(tool.input.get("input")))
        if commands:
            facts["command"] = "\n".join(commands)
            tool.input = clean_value({"commands": commands, **tool.input})
        if tool.diffs and tool.type == "shell":
            tool.type = "write"
        tools.complete(tool, facts)
        return tool, facts

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """Return the changes of a tool: from the events, which have line numbers, else from the patch itself."""
        changes = [dict_of(one.details).get("changes") for one in answer.more] if answer is not None else []
        told = [diff for one in changes for diff in tools.change_diffs(one)]
        return told or tools.patched(tool.name, tool.input)


def _reading() -> Any:
    # Whoever looks for sessions imports every agent: the words that rollouts are read in are not needed for that.
    from schemas.providers.codex import history

    return history


PROVIDER = Codex()
