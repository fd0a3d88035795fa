"""A session with one of everything, made by hand, for the exporters' tests."""

from __future__ import annotations

from schemas.diffs import FileDiff, Hunk
from schemas.message import Flag, Kind, Part, Tool, ToolStatus
from schemas.records import Unreadable
from schemas.session import Session, Subagent
from schemas.usage import TokenUsage
from tests.support import Hand

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def shell(command: str, text: str, **fields: object) -> Tool:
    return Tool("Bash", "shell", "t", {"command": command}, text=text, **fields)  # type: ignore[arg-type]


def sample() -> Hand:
    hand = Hand()
    session = hand.session
    session.branch = "fix/_lock_"
    hand.note(Kind.CONTEXT, "project instructions", "Be <b>brief</b>.")
    hand.prompt("Find out why *one in five* fails\nand fix it <now>")
    hand.thinking("The lock is taken **before** the transaction.", usage=TokenUsage(10, 20, 300, None))
    hand.thinking("", flags=Flag.WITHHELD)
    output = f"E   assert\n```\ntoken {TOKEN}\n\ttab"
    hand.tool(shell("pytest -q\necho done", output, status=ToolStatus.ERROR, exit_code=1, seconds=41.2))
    session.exchanges[-1].errors += 1
    patch = FileDiff("/home/dev/lamp-shop/db/migrate.py", hunks=[Hunk([" a", "-b", "+c", "+```"], 1, 1)])
    hand.tool(
        Tool("Edit", "write", "e", {"file_path": patch.path, "old_string": "b", "new_string": "c"}, diffs=[patch])
    )
    hand.text("# Fixed\n\nBoth callers now wait.\n\n```py\nx = 1", usage=TokenUsage(5, 50, 1000, 200))
    hand.prompt("run it ten times")
    hand.tool(
        Tool(
            "Task",
            "task",
            "a",
            {"subagent_type": "explore", "description": "find callers"},
            subagent="agent-1",
            text="two",
        )
    )
    child = Hand(session_id="agent-1")
    child.prompt("find callers of lock()")
    child.text("Two callers.", usage=TokenUsage(7, 70, 700, 0))
    session.subagents.append(
        Subagent(
            "agent-1", "explore", "find callers", session=child.session, tool_use=hand.session.messages.__len__() - 1
        )
    )
    hand.note(Kind.COMPACTION, "Compacted, auto, 170k → 8k", "## Summary of it all")
    hand.note(Kind.NOTE, "a background task finished", "its log")
    hand.note(Kind.INTERRUPT, "Interrupted by the person")
    hand.note(Kind.ERROR, "API error 529", "overloaded_error")
    hand.add(
        Kind.STEER,
        parts=[Part("text", "stop at five"), Part("image", "[image: image/png, 12 KB]", "image/png", 12_288)],
    )
    hand.add(Kind.COMMAND, opener="/model opus", parts=[Part("text", "/model opus")])
    hand.note(Kind.OUTPUT, "", "Set model to opus")
    hand.note(Kind.UNKNOWN, "hologram", '{"type": "hologram"}')
    hand.prompt("try the other lock")
    session.exchanges[-1].rewound = True
    hand.text("Use it on the door.")
    session.unknown["hologram"] = 1
    session.unreadable.append(Unreadable(7, "not JSON: expecting value", 4096, 812))
    return hand


def load(subagent: Subagent) -> Session | None:
    return subagent.session
