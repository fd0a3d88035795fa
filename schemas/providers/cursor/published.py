"""Cursor as the published formats know it."""

from __future__ import annotations

from schemas.providers.kit.published import Published, categories

PUBLISHED = Published(
    names=("cursoride",),
    categories=categories(
        file_read="read_file read_file_v2 read Read read_chunk list_dir list_dir_v2 ls read_project"
        " get_project_structure get_symbols get_tests gotodef summarize_code read_lints read_with_linter"
        " read_semsearch_files blame_by_file_path",
        file_write="edit_file edit_file_v2 edit Edit Write StrReplace delete_file delete new_edit new_file save_file"
        " reapply undo_edit apply_agent_diff create_rm_files add_test delete_test fix_lints fix_lints_subagent",
        file_search="glob_file_search Glob glob ripgrep_raw_search ripgrep_search grep_search grep Grep search"
        " search_symbols semantic_search semantic_search_full sem_search deep_search deep_search_subagent"
        " tool_call_file_search",
        shell="run_terminal_command_v2 run_terminal_commands run_terminal_cmd run_test write_shell_stdin Shell shell",
        network="web_search web_fetch fetch_pull_request fetch call_mcp_tool",
        delegation="task_v2 task Task task_subagent spec_subagent background_composer_followup start_grind_execution"
        " start_grind_planning",
    ),
    seller="cursor",
)
