CREATE TABLE project (id TEXT PRIMARY KEY, worktree TEXT, vcs TEXT);
CREATE TABLE session (
    id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT, version TEXT,
    share_url TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER, time_archived INTEGER, agent TEXT,
    model TEXT, tokens_input INTEGER DEFAULT 0
);
CREATE TABLE message (
    id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL
);
CREATE TABLE part (
    id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
    data TEXT NOT NULL
);
CREATE TABLE todo (session_id TEXT, content TEXT, status TEXT, priority TEXT, position INTEGER);
CREATE TABLE event (id TEXT PRIMARY KEY, aggregate_id TEXT, seq INTEGER, type TEXT, data TEXT);
CREATE TABLE session_message (
    id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, time_updated INTEGER, data TEXT
);
CREATE TABLE session_input (
    id TEXT PRIMARY KEY, session_id TEXT, prompt TEXT, delivery TEXT, admitted_seq INTEGER, promoted_seq INTEGER
);
INSERT INTO project VALUES('86f534d2f4bc60d6e8100ce3bbce9df24642d138', '/home/dev/lamp-shop', 'git');
INSERT INTO session VALUES('ses_18aaaabbbbccccDDDDEEEEFFFF', '86f534d2f4bc60d6e8100ce3bbce9df24642d138', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 'quiet-otter', '/home/dev/lamp-shop', 'Count (@general subagent)', '1.18.33', NULL, NULL, 1780000000000, 1780000016000, NULL, NULL, NULL, 0);
INSERT INTO session VALUES('ses_17aaaabbbbccccDDDDEEEEFFFF', '86f534d2f4bc60d6e8100ce3bbce9df24642d138', NULL, 'quiet-otter', '/home/dev/lamp-shop', 'Lamp shop (fork #1)', '1.18.33', NULL, NULL, 1780000100000, 1780000103000, NULL, NULL, NULL, 0);
INSERT INTO session VALUES('ses_16aaaabbbbccccDDDDEEEEFFFF', '86f534d2f4bc60d6e8100ce3bbce9df24642d138', NULL, 'quiet-otter', '/', 'New session - 2026-05-28T20:26:40.000Z', '1.18.33', NULL, NULL, 1780000199000, 1780000205000, NULL, NULL, NULL, 0);
INSERT INTO session VALUES('ses_empty', '86f534d2f4bc60d6e8100ce3bbce9df24642d138', NULL, 'quiet-otter', '/home/dev/lamp-shop', 'New session - 2026-05-28T20:26:40.000Z', '1.18.33', NULL, NULL, 1780000000000, 1780000016000, NULL, NULL, NULL, 0);
INSERT INTO message VALUES('msg_8aaaabb00', 'ses_18aaaabbbbccccDDDDEEEEFFFF', 1780000004100, 1780000004100, '{"role": "user", "time": {"created": 1780000004100}, "agent": "build"}');
INSERT INTO message VALUES('msg_8aaaabb01', 'ses_18aaaabbbbccccDDDDEEEEFFFF', 1780000004200, 1780000004200, '{"role": "assistant", "time": {"created": 1780000004200, "completed": 1780000005200}, "modelID": "kestrel-1", "providerID": "mock", "mode": "build", "agent": "build", "cost": 0.01, "tokens": {"total": 22, "input": 20, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO message VALUES('msg_7aaaabb00', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000001000, 1780000001000, '{"role": "user", "time": {"created": 1780000001000}, "agent": "build"}');
INSERT INTO message VALUES('msg_7aaaabb01', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"role": "assistant", "time": {"created": 1780000002000, "completed": 1780000003000}, "modelID": "kestrel-1", "providerID": "mock", "mode": "build", "agent": "build", "cost": 0.01, "tokens": {"total": 118, "input": 10, "output": 5, "reasoning": 3, "cache": {"read": 100, "write": 0}}}');
INSERT INTO message VALUES('msg_7aaaabb02', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000004000, 1780000004000, '{"role": "assistant", "time": {"created": 1780000004000, "completed": 1780000005000}, "modelID": "kestrel-1", "providerID": "mock", "mode": "build", "agent": "build", "cost": 0.01, "tokens": {"total": 17, "input": 11, "output": 6, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO message VALUES('msg_7aaaabb03', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000101000, 1780000101000, '{"role": "user", "time": {"created": 1780000101000}, "agent": "build"}');
INSERT INTO message VALUES('msg_7aaaabb04', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000102000, 1780000102000, '{"role": "assistant", "time": {"created": 1780000102000, "completed": 1780000103000}, "modelID": "kestrel-1", "providerID": "mock", "mode": "build", "agent": "build", "cost": 0.01, "tokens": {"total": 5, "input": 3, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_9aaaabb0000', 'msg_9aaaabb00', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000001000, 1780000001000, '{"type": "text", "text": "\"Light the \\\"lamp\\\"\""}');
INSERT INTO part VALUES('prt_9aaaabb0001', 'msg_9aaaabb00', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000001000, 1780000001000, '{"type": "text", "text": "<file>on = 0</file>", "synthetic": true}');
INSERT INTO part VALUES('prt_9aaaabb0100', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_9aaaabb0101', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "reasoning", "text": "It is off.", "time": {"start": 1780000002100}}');
INSERT INTO part VALUES('prt_9aaaabb0102', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "text", "text": "I will light it.", "time": {"start": 1780000002200}}');
INSERT INTO part VALUES('prt_9aaaabb0103', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "tool", "tool": "edit", "callID": "c1", "state": {"status": "completed", "input": {"filePath": "lamp.py", "oldString": "on = 0", "newString": "on = 1"}, "time": {"start": 1780000002300, "end": 1780000003800}, "output": "Edit applied successfully.", "metadata": {"diff": "Index: lamp.py\n===\n--- lamp.py\n+++ lamp.py\n@@ -1 +1 @@\n-on = 0\n+on = 1\n"}}}');
INSERT INTO part VALUES('prt_9aaaabb0104', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "tool", "tool": "bash", "callID": "c2", "state": {"status": "completed", "input": {"command": "exit 3"}, "time": {"start": 1780000002300, "end": 1780000003800}, "output": "oh\n", "metadata": {"exit": 3}}}');
INSERT INTO part VALUES('prt_9aaaabb0105', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "tool", "tool": "read", "callID": "c3", "state": {"status": "error", "input": {"filePath": "gone.py"}, "time": {"start": 1780000002300, "end": 1780000003800}, "error": "File not found: gone.py"}}');
INSERT INTO part VALUES('prt_9aaaabb0106', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "step-finish", "tokens": {"total": 118, "input": 10, "output": 5, "reasoning": 3, "cache": {"read": 100, "write": 0}}}');
INSERT INTO part VALUES('prt_9aaaabb0200', 'msg_9aaaabb02', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000004000, 1780000004000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_9aaaabb0201', 'msg_9aaaabb02', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000004000, 1780000004000, '{"type": "tool", "tool": "task", "callID": "c4", "state": {"status": "completed", "input": {"description": "Count", "prompt": "Count all", "subagent_type": "general"}, "time": {"start": 1780000002300, "end": 1780000003800}, "output": "<task id=\"x\" state=\"completed\">\n<task_result>\n3\n</task_result>\n</task>", "metadata": {"sessionId": "ses_18aaaabbbbccccDDDDEEEEFFFF"}}}');
INSERT INTO part VALUES('prt_9aaaabb0202', 'msg_9aaaabb02', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000004000, 1780000004000, '{"type": "step-finish", "tokens": {"total": 17, "input": 11, "output": 6, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_9aaaabb0300', 'msg_9aaaabb03', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000006000, 1780000006000, '{"type": "text", "text": "Sleep now"}');
INSERT INTO part VALUES('prt_9aaaabb0400', 'msg_9aaaabb04', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000007000, 1780000007000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_9aaaabb0401', 'msg_9aaaabb04', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000007000, 1780000007000, '{"type": "tool", "tool": "bash", "callID": "c5", "state": {"status": "completed", "input": {"command": "sleep 90"}, "time": {"start": 1780000002300, "end": 1780000003800}, "metadata": {"exit": null}, "output": "a\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"}}');
INSERT INTO part VALUES('prt_9aaaabb0402', 'msg_9aaaabb04', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000007000, 1780000007000, '{"type": "step-finish", "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_9aaaabb0500', 'msg_9aaaabb05', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000009000, 1780000009000, '{"type": "compaction", "auto": false}');
INSERT INTO part VALUES('prt_9aaaabb0600', 'msg_9aaaabb06', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000010000, 1780000010000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_9aaaabb0601', 'msg_9aaaabb06', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000010000, 1780000010000, '{"type": "text", "text": "A lamp was lit."}');
INSERT INTO part VALUES('prt_9aaaabb0602', 'msg_9aaaabb06', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000010000, 1780000010000, '{"type": "step-finish", "tokens": {"total": 19, "input": 12, "output": 7, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_9aaaabb0700', 'msg_9aaaabb07', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000012000, 1780000012000, '{"type": "text", "text": "Paint it"}');
INSERT INTO part VALUES('prt_9aaaabb0800', 'msg_9aaaabb08', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000013000, 1780000013000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_9aaaabb0801', 'msg_9aaaabb08', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000013000, 1780000013000, '{"type": "step-finish", "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_9aaaabb0900', 'msg_9aaaabb09', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000015000, 1780000015000, '{"type": "text", "text": "Paint it blue"}');
INSERT INTO part VALUES('prt_9aaaabb1000', 'msg_9aaaabb10', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000016000, 1780000016000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_9aaaabb1001', 'msg_9aaaabb10', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000016000, 1780000016000, '{"type": "text", "text": "Painted."}');
INSERT INTO part VALUES('prt_9aaaabb1002', 'msg_9aaaabb10', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000016000, 1780000016000, '{"type": "step-finish", "tokens": {"total": 13, "input": 9, "output": 4, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_8aaaabb0000', 'msg_8aaaabb00', 'ses_18aaaabbbbccccDDDDEEEEFFFF', 1780000004100, 1780000004100, '{"type": "text", "text": "Count all"}');
INSERT INTO part VALUES('prt_8aaaabb0100', 'msg_8aaaabb01', 'ses_18aaaabbbbccccDDDDEEEEFFFF', 1780000004200, 1780000004200, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_8aaaabb0101', 'msg_8aaaabb01', 'ses_18aaaabbbbccccDDDDEEEEFFFF', 1780000004200, 1780000004200, '{"type": "text", "text": "3"}');
INSERT INTO part VALUES('prt_8aaaabb0102', 'msg_8aaaabb01', 'ses_18aaaabbbbccccDDDDEEEEFFFF', 1780000004200, 1780000004200, '{"type": "step-finish", "tokens": {"total": 22, "input": 20, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_7aaaabb0000', 'msg_7aaaabb00', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000001000, 1780000001000, '{"type": "text", "text": "\"Light the \\\"lamp\\\"\""}');
INSERT INTO part VALUES('prt_7aaaabb0001', 'msg_7aaaabb00', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000001000, 1780000001000, '{"type": "text", "text": "<file>on = 0</file>", "synthetic": true}');
INSERT INTO part VALUES('prt_7aaaabb0100', 'msg_7aaaabb01', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_7aaaabb0101', 'msg_7aaaabb01', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "reasoning", "text": "It is off.", "time": {"start": 1780000002100}}');
INSERT INTO part VALUES('prt_7aaaabb0102', 'msg_7aaaabb01', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "text", "text": "I will light it.", "time": {"start": 1780000002200}}');
INSERT INTO part VALUES('prt_7aaaabb0103', 'msg_7aaaabb01', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "tool", "tool": "edit", "callID": "c1", "state": {"status": "completed", "input": {"filePath": "lamp.py", "oldString": "on = 0", "newString": "on = 1"}, "time": {"start": 1780000002300, "end": 1780000003800}, "output": "Edit applied successfully.", "metadata": {"diff": "Index: lamp.py\n===\n--- lamp.py\n+++ lamp.py\n@@ -1 +1 @@\n-on = 0\n+on = 1\n"}}}');
INSERT INTO part VALUES('prt_7aaaabb0104', 'msg_7aaaabb01', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "tool", "tool": "bash", "callID": "c2", "state": {"status": "completed", "input": {"command": "exit 3"}, "time": {"start": 1780000002300, "end": 1780000003800}, "output": "oh\n", "metadata": {"exit": 3}}}');
INSERT INTO part VALUES('prt_7aaaabb0105', 'msg_7aaaabb01', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "tool", "tool": "read", "callID": "c3", "state": {"status": "error", "input": {"filePath": "gone.py"}, "time": {"start": 1780000002300, "end": 1780000003800}, "error": "File not found: gone.py"}}');
INSERT INTO part VALUES('prt_7aaaabb0106', 'msg_7aaaabb01', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "step-finish", "tokens": {"total": 118, "input": 10, "output": 5, "reasoning": 3, "cache": {"read": 100, "write": 0}}}');
INSERT INTO part VALUES('prt_7aaaabb0200', 'msg_7aaaabb02', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000004000, 1780000004000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_7aaaabb0201', 'msg_7aaaabb02', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000004000, 1780000004000, '{"type": "tool", "tool": "task", "callID": "c4", "state": {"status": "completed", "input": {"description": "Count", "prompt": "Count all", "subagent_type": "general"}, "time": {"start": 1780000002300, "end": 1780000003800}, "output": "<task id=\"x\" state=\"completed\">\n<task_result>\n3\n</task_result>\n</task>", "metadata": {"sessionId": "ses_18aaaabbbbccccDDDDEEEEFFFF"}}}');
INSERT INTO part VALUES('prt_7aaaabb0202', 'msg_7aaaabb02', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000004000, 1780000004000, '{"type": "step-finish", "tokens": {"total": 17, "input": 11, "output": 6, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_7aaaabb0300', 'msg_7aaaabb03', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000101000, 1780000101000, '{"type": "text", "text": "Now a boat"}');
INSERT INTO part VALUES('prt_7aaaabb0400', 'msg_7aaaabb04', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000102000, 1780000102000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_7aaaabb0401', 'msg_7aaaabb04', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000102000, 1780000102000, '{"type": "text", "text": "A boat."}');
INSERT INTO part VALUES('prt_7aaaabb0402', 'msg_7aaaabb04', 'ses_17aaaabbbbccccDDDDEEEEFFFF', 1780000102000, 1780000102000, '{"type": "step-finish", "tokens": {"total": 5, "input": 3, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO todo VALUES('ses_19aaaabbbbccccDDDDEEEEFFFF', 'Light it', 'completed', 'high', 0);
INSERT INTO session_message VALUES('msg_b0', 'ses_16aaaabbbbccccDDDDEEEEFFFF', 'user', 2, 1780000200000, 1780000200000, '{"text": "Build a boat", "time": {"created": 1780000200000}}');
INSERT INTO session_message VALUES('msg_b1', 'ses_16aaaabbbbccccDDDDEEEEFFFF', 'assistant', 7, 1780000201000, 1780000200000, '{"model": {"id": "kestrel-2"}, "content": [{"type": "reasoning", "id": "reasoning-0", "text": "Wood."}, {"type": "text", "id": "text-0", "text": "Hm."}, {"type": "tool", "id": "c9", "name": "bash", "time": {"created": 1780000202000, "ran": 1780000202000, "completed": 1780000203000}, "state": {"status": "completed", "input": {"command": "exit 3"}, "structured": {"exit": 3}, "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "Command exited with code 3."}]}}], "tokens": {"input": 7, "output": 8, "reasoning": 2, "cache": {"read": 1, "write": 0}}, "time": {"created": 1780000201000}}');
INSERT INTO session_message VALUES('msg_b2', 'ses_16aaaabbbbccccDDDDEEEEFFFF', 'assistant', 12, 1780000202000, 1780000200000, '{"model": {"id": "kestrel-2"}, "finish": "error", "time": {"created": 1780000204000}, "content": [{"type": "text", "id": "text-0", "text": "A"}], "error": {"type": "unknown", "message": "Provider turn interrupted"}}');
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
