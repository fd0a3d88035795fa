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
INSERT INTO sessions VALUES('20260528_1', 'CLI Session', '', NULL, 'user', '/home/dev/lamp-shop', '2026-05-28T20:26:40.000Z', '2026-05-28T20:27:00.000Z', 130, 9, 100, NULL, '{"model_name": "kestrel-1"}', NULL, NULL);
INSERT INTO messages VALUES(1, 'msg_1', '20260528_1', 'user', '[{"type": "text", "text": "Light the lamp"}]', 1780000001, NULL, '{"userVisible": true}');
