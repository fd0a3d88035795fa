"""Gemini CLI as the published formats know it."""

from __future__ import annotations

from schemas.providers.kit.published import Published, categories

PUBLISHED = Published(
    names=("gemini-cli",),
    source="gemini-cli",
    categories=categories(
        file_read="read_file read_many_files list_directory get_internal_docs read_mcp_resource",
        file_write="write_file replace edit",
        file_search="glob grep_search search_file_content",
        shell="run_shell_command",
        network="web_fetch google_web_search",
        delegation="task activate_skill",
    ),
    figures={
        "context": "inputTokens", "cache_read": "cachedTokens", "spoken": "outputTokens", "reasoning": "thoughtTokens",
    },
    inclusive=True,
    slug="gemini-session",
)  # fmt: skip
