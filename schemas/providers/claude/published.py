"""Claude Code as the published formats know it."""

from __future__ import annotations

import re

from schemas.providers.kit.published import Published, categories

_SCAFFOLD = (
    "<command-name>", "<command-message>", "<command-args>", "<local-command-stdout>", "<local-command-stderr>",
    "<local-command-caveat>", "[Request interrupted by user",
)  # fmt: skip
"""How messages begin that the program writes in a person's name."""
PUBLISHED = Published(
    names=("claude-code",),
    source="claude-code",
    categories=categories(
        file_read="Read",
        file_write="Write Edit MultiEdit NotebookEdit",
        file_search="Glob Grep",
        shell="Bash",
        network="WebFetch WebSearch",
        delegation="Task Agent",
    ),
    by_block=True,
    untyped=re.compile(rf"^(?:{'|'.join(map(re.escape, _SCAFFOLD))})|<TEXTBLOCK>|(?i:warmup)"),
    steps="claude.steps:ClaudeSource",
)
