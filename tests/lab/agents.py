"""How each agent is installed, set up and started, and what it calls the mock's acts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.lab.protocols import Call
from tests.lab.scene import Item
from tests.lab.server import Act


class Missing(Exception):
    """Node, or the agent, is not to be had."""


@dataclass(frozen=True)
class Agent:
    """An agent of npm's registry. In commands, settings and variables, URL is the mock's address."""

    id: str
    package: str
    commands: tuple[str, str]
    """The first command and the second, which goes on with SESSION; each without the program and the prompt's text."""
    settings: tuple[str, str]
    """A file below the home, and what is in it."""
    env: dict[str, str]
    sessions: str
    """Pattern of its session files, below the home."""
    tools: dict[str, tuple[str, list[str], dict[str, Any]]] = field(default_factory=dict)
    """For each act the tool, the names of its values, and what the tool is given besides."""
    printed: Callable[[Item], Item | None] = lambda item: None if item.kind == "prompt" else item
    """What it prints of a message."""
    prints_parts: tuple[int, ...] = ()
    """The commands that print an answer while it is made."""
    counts_thinking: bool = True
    """Whether what it prints tells how much of the output was thinking."""
    counts_thread: bool = False
    """Whether a resumed run prints the figures of the whole thread, and no others."""

    def install(self, cache: Path) -> Path:
        """Have its newest version in a folder of the cache; returns the program."""
        folder = cache / self.id
        folder.mkdir(parents=True, exist_ok=True)
        npm = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            subprocess.run([*npm, f"{self.package}@latest"], check=True, stdout=subprocess.DEVNULL, timeout=900)
        except (OSError, subprocess.SubprocessError) as error:
            raise Missing(f"{self.package} cannot be installed: {error}") from error
        manifest = json.loads((folder / "node_modules" / self.package / "package.json").read_text())
        return folder.joinpath("node_modules/.bin", *manifest["bin"])

    def set_up(self, home: Path, url: str) -> dict[str, str]:
        """Write the settings; returns the environment."""
        path = home / self.settings[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.settings[1].replace("URL", url))
        return {name: value.replace("URL", url) for name, value in self.env.items()}

    def arguments(self, prompt: str, session: str) -> list[str]:
        """What the program is started with."""
        return [word.replace("SESSION", session) for word in self.commands[bool(session)].split()] + [prompt]

    def call(self, act: Act) -> Call:
        """An act in its words."""
        if not self.tools:
            return _script(act)
        name, keys, besides = self.tools[act.what]
        return Call(name, dict(zip(keys, act.values, strict=True)) | besides)


def _script(act: Act) -> Call:
    """An act as the script in which Codex wants it."""
    if act.what == "edit":
        path, old, new = act.values
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
        return Call("exec", f"text(await tools.apply_patch({json.dumps(patch)}));\n")
    command = act.values[0] if act.what == "run" else f"cat {act.values[0]}"
    return Call("exec", f"const r = await tools.exec_command({json.dumps({'cmd': command})});\ntext(r.output);\n")


def _codex_prints(item: Item) -> Item | None:
    """Nothing of a patch that finds no place."""
    return None if item.kind == "prompt" or (item.status == "error" and item.exit_code is None) else item


def _gemini_prints(item: Item) -> Item | None:
    """No thinking, and a success where a command failed."""
    if item.kind == "thinking":
        return None
    return item if item.exit_code is None else replace(item, status="ok", exit_code=None)


_EDIT = ["file_path", "old_string", "new_string"]
_CLAUDE = "--dangerously-skip-permissions --output-format stream-json --verbose"
_CODEX = "--json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m gpt-6.2-sol"
_CODEX_SETTINGS = """
model_provider = "mock"
check_for_update_on_startup = false
analytics.enabled = false
[model_providers.mock]
name = "mock"
base_url = "URL/v1"
env_key = "MOCK_API_KEY"
wire_api = "responses"
supports_websockets = false
"""
_GEMINI = "--output-format stream-json --yolo -m gemini-3.1-pro-preview"
_QWEN = "--output-format stream-json --yolo -m qwen3-coder-plus"
_GOOGLE_SETTINGS = """{
"security": {"auth": {"selectedType": "KEY"}, "folderTrust": {"enabled": false}},
"privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false}
}"""

AGENTS = [
    Agent(
        "claude", "@anthropic-ai/claude-code",
        (f"{_CLAUDE} -p", f"{_CLAUDE} --resume SESSION --include-partial-messages -p"),
        (".claude/settings.json", '{"model": "claude-opus-5-5"}'),
        {
            "ANTHROPIC_BASE_URL": "URL", "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # else it asks for permissions where it runs as root
        },
        ".claude/projects/*/*.jsonl",
        {"run": ("Bash", ["command"], {}), "read": ("Read", ["file_path"], {}), "edit": ("Edit", _EDIT, {})},
        prints_parts=(2,),
    ),
    Agent(
        "codex", "@openai/codex", (f"exec {_CODEX}", f"exec resume {_CODEX} SESSION"),
        (".codex/config.toml", _CODEX_SETTINGS), {"MOCK_API_KEY": "none"}, ".codex/sessions/**/rollout-*.jsonl",
        printed=_codex_prints, counts_thread=True,
    ),
    Agent(
        "gemini", "@google/gemini-cli", (f"{_GEMINI} -p", f"{_GEMINI} --resume SESSION -p"),
        (".gemini/settings.json", _GOOGLE_SETTINGS.replace("KEY", "gemini-api-key")),
        {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "URL", "NO_BROWSER": "1"},
        ".gemini/tmp/*/chats/session-*.json*",
        {
            "run": ("run_shell_command", ["command"], {}), "read": ("read_file", ["file_path"], {}),
            "edit": ("replace", _EDIT, {"instruction": "As asked"}),
        },
        printed=_gemini_prints, prints_parts=(1, 2), counts_thinking=False,
    ),
    Agent(
        "qwen", "@qwen-code/qwen-code",
        (f"{_QWEN} -p", f"{_QWEN} --resume SESSION --include-partial-messages -p"),
        (".qwen/settings.json", _GOOGLE_SETTINGS.replace("KEY", "openai")),
        {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "URL/v1"}, ".qwen/projects/*/chats/*.jsonl",
        {
            "run": ("run_shell_command", ["command"], {"is_background": False}),
            "read": ("read_file", ["file_path"], {}), "edit": ("edit", _EDIT, {}),
        },
        prints_parts=(2,), counts_thinking=False,
    ),
]  # fmt: skip
