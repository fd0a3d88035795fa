CREATE TABLE sessions (
    id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, message_count INTEGER, prompt_tokens INTEGER,
    completion_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER, summary_message_id TEXT
);
CREATE TABLE messages (
    id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT NOT NULL DEFAULT '[]', model TEXT, created_at INTEGER,
    updated_at INTEGER, finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0
);
INSERT INTO sessions VALUES('0197aaaa-lamp', NULL, 'Lamp shop', NULL, 120, 3, 0.02, 1780000012, 1780000000, NULL);
INSERT INTO sessions VALUES('m6$$c3', '0197aaaa-lamp', 'Count them', NULL, 120, 3, 0.02, 1780000012, 1780000000, NULL);
INSERT INTO messages VALUES('0197aaaa-lamp-1', '0197aaaa-lamp', 'user', '[{"type": "text", "data": {"text": "Light the lamp"}}, {"type": "finish", "data": {"reason": "stop"}}]', NULL, 1780000001, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-2', '0197aaaa-lamp', 'assistant', '[{"type": "reasoning", "data": {"thinking": "It is off."}}, {"type": "text", "data": {"text": "I do."}}, {"type": "tool_call", "data": {"id": "c1", "name": "edit", "input": "{\"file_path\": \"lamp.py\", \"old_string\": \"on = 0\", \"new_string\": \"on = 1\"}", "finished": true}}]', 'kestrel-1', 1780000002, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-3', '0197aaaa-lamp', 'tool', '[{"type": "tool_result", "data": {"tool_call_id": "c1", "name": "", "content": "Edited", "is_error": false, "metadata": "{}"}}]', NULL, 1780000003, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-4', '0197aaaa-lamp', 'assistant', '[{"type": "text", "data": {"text": "It is lit."}}, {"type": "finish", "data": {"reason": "end_turn"}}]', 'kestrel-1', 1780000004, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-5', '0197aaaa-lamp', 'user', '[{"type": "text", "data": {"text": "Break it"}}]', NULL, 1780000005, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-6', '0197aaaa-lamp', 'assistant', '[{"type": "tool_call", "data": {"id": "c2", "name": "bash", "input": "{\"command\": \"exit 3\"}", "finished": true}}, {"type": "tool_call", "data": {"id": "c3", "name": "agent", "input": "{\"prompt\": \"Count them\"}", "finished": true}}]', 'kestrel-1', 1780000006, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-7', '0197aaaa-lamp', 'tool', '[{"type": "tool_result", "data": {"tool_call_id": "c2", "name": "", "content": "oh", "is_error": true, "metadata": "{}"}}, {"type": "tool_result", "data": {"tool_call_id": "c3", "name": "", "content": "Three.", "is_error": false, "metadata": "{}"}}]', NULL, 1780000007, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-8', '0197aaaa-lamp', 'assistant', '[{"type": "text", "data": {"text": "A lamp was lit."}}]', 'kestrel-1', 1780000008, NULL, NULL, NULL, 1);
INSERT INTO messages VALUES('0197aaaa-lamp-9', '0197aaaa-lamp', 'user', '[{"type": "shell_command", "data": {"command": "git diff", "output": "+on = 1"}}]', NULL, 1780000009, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-10', '0197aaaa-lamp', 'assistant', '[{"type": "finish", "data": {"reason": "canceled"}}]', 'kestrel-1', 1780000010, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('0197aaaa-lamp-11', '0197aaaa-lamp', 'assistant', '[{"type": "finish", "data": {"reason": "error", "message": "Busy", "details": "503: busy"}}]', 'kestrel-1', 1780000011, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('m6$$c3-6', 'm6$$c3', 'user', '[{"type": "text", "data": {"text": "Count them"}}]', NULL, 1780000006, NULL, NULL, NULL, 0);
INSERT INTO messages VALUES('m6$$c3-7', 'm6$$c3', 'assistant', '[{"type": "text", "data": {"text": "Three."}}]', 'kestrel-1', 1780000007, NULL, NULL, NULL, 0);
