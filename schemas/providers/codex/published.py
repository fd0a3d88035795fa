"""Codex as the published formats know it."""

from __future__ import annotations

from schemas.providers.kit.published import Published, categories

PUBLISHED = Published(
    names=("codex-cli",),
    categories=categories(
        file_read="read_file read_many_files list_dir view_image mcp_resource",
        file_write="write_file apply_patch replace edit",
        file_search="glob grep_search search_file_content tool_search tool_suggest",
        shell="shell exec_command unified_exec write_stdin js_repl",
        network="web_fetch web_search google_web_search",
        delegation="spawn_agent close_agent wait_agent resume_agent send_message followup_task list_agents agent_jobs"
        " task activate_skill",
    ),
    figures={
        "context": "inputTokens", "cache_read": "cachedInputTokens", "output": "outputTokens",
        "reasoning": "reasoningOutputTokens",
    },
    inclusive=True,
    steps="codex.steps:CodexSource",
)  # fmt: skip
