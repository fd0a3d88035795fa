CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT, description TEXT, user_set_name BOOLEAN, session_type TEXT, working_dir TEXT,
    created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
    accumulated_cache_read_tokens INTEGER, accumulated_cache_write_tokens INTEGER, model_config_json TEXT,
    parent_session_id TEXT, archived_at TIMESTAMP
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL,
    content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, tokens INTEGER, metadata_json TEXT
);
CREATE TABLE usage_ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, created_timestamp INTEGER NOT NULL, model TEXT,
    input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER, cache_read_tokens INTEGER,
    cache_write_tokens INTEGER, is_compaction BOOLEAN
);
INSERT INTO sessions VALUES('20260528_1', 'Lamp shop', '', NULL, 'user', '/home/dev/lamp-shop', '2026-05-28T20:26:40.000Z', '2026-05-28T20:27:00.000Z', 9999, NULL, NULL, NULL, '{"model_name": "kestrel-1"}', NULL, NULL);
INSERT INTO sessions VALUES('20260528_2', 'Count them', '', NULL, 'sub_agent', '/home/dev/lamp-shop', '2026-05-28T20:26:46.000Z', '2026-05-28T20:27:00.000Z', NULL, NULL, NULL, NULL, '{"model_name": "kestrel-1"}', '20260528_1', NULL);
INSERT INTO messages VALUES(1, 'msg_1', '20260528_1', 'user', '[{"type": "text", "text": "Light the lamp"}]', 1780000001, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(2, 'msg_2', '20260528_1', 'assistant', '[{"type": "thinking", "thinking": "It ", "signature": ""}, {"type": "thinking", "thinking": "is off.", "signature": ""}, {"type": "text", "text": "I light it."}, {"type": "toolRequest", "id": "c1", "toolCall": {"status": "success", "value": {"name": "developer__edit", "arguments": {"path": "lamp.py", "before": "on = 0", "after": "on = 1"}}}}]', 1780000002, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(3, 'msg_3', '20260528_1', 'user', '[{"type": "toolResponse", "id": "c1", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "Edited"}], "isError": false}}}]', 1780000003, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(4, 'msg_4', '20260528_1', 'assistant', '[{"type": "text", "text": "It is lit."}]', 1780000004, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(5, 'msg_5', '20260528_1', 'user', '[{"type": "text", "text": "Break it"}]', 1780000005, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(6, 'msg_6', '20260528_1', 'assistant', '[{"type": "toolRequest", "id": "c2", "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "exit 3"}}}}, {"type": "toolRequest", "id": "c3", "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "rm -r /"}}}}, {"type": "toolRequest", "id": "c4", "toolCall": {"status": "success", "value": {"name": "delegate", "arguments": {"instructions": "Count them"}}}}]', 1780000006, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(7, 'msg_7', '20260528_1', 'user', '[{"type": "toolResponse", "id": "c2", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "oh"}], "isError": true}}}, {"type": "toolResponse", "id": "c3", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "The user has declined to run this tool."}], "isError": true}}}, {"type": "toolResponse", "id": "c4", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "Three."}], "isError": false}}}]', 1780000007, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(8, 'msg_9', '20260528_1', 'user', '[{"type": "text", "text": "A lamp was lit."}]', 1780000009, NULL, '{"userVisible": false}');
INSERT INTO messages VALUES(9, 'msg_10', '20260528_1', 'assistant', '[{"type": "systemNotification", "msg": "Compacted"}]', 1780000010, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(10, 'msg_6', '20260528_2', 'user', '[{"type": "text", "text": "Count them"}]', 1780000006, NULL, '{"userVisible": true}');
INSERT INTO messages VALUES(11, 'msg_7', '20260528_2', 'assistant', '[{"type": "text", "text": "Three."}]', 1780000007, NULL, '{"userVisible": true}');
INSERT INTO usage_ledger VALUES(1, '20260528_1', 1780000002, 'kestrel-1', 110, 5, NULL, 100, 0, NULL);
INSERT INTO usage_ledger VALUES(2, '20260528_1', 1780000004, 'kestrel-1', 127, 3, NULL, 120, 0, NULL);
INSERT INTO usage_ledger VALUES(3, '20260528_1', 1780000006, 'kestrel-1', 8, 2, NULL, 0, 0, NULL);
INSERT INTO usage_ledger VALUES(4, '20260528_1', 1780000008, 'kestrel-1', 50, 6, NULL, 0, 0, 1);
INSERT INTO usage_ledger VALUES(5, '20260528_2', 1780000007, 'kestrel-1', 20, 4, NULL, 0, 0, NULL);
