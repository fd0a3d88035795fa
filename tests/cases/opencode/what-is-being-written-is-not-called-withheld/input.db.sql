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
INSERT INTO session VALUES('ses_19aaaabbbbccccDDDDEEEEFFFF', '86f534d2f4bc60d6e8100ce3bbce9df24642d138', NULL, 'quiet-otter', '/home/dev/lamp-shop', 'New session - 2026-05-28T20:26:40.000Z', '1.18.33', NULL, NULL, 1780000000000, 1780000016000, NULL, NULL, NULL, 0);
INSERT INTO message VALUES('msg_9aaaabb00', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000001000, 1780000001000, '{"role": "user", "time": {"created": 1780000001000}, "agent": "build"}');
INSERT INTO message VALUES('msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"role": "assistant", "time": {"created": 1780000002000, "completed": 1780000003000}, "modelID": "kestrel-1", "providerID": "mock", "mode": "build", "agent": "build", "cost": 0.01, "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
INSERT INTO part VALUES('prt_9aaaabb0000', 'msg_9aaaabb00', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000001000, 1780000001000, '{"type": "text", "text": "Sleep"}');
INSERT INTO part VALUES('prt_9aaaabb0100', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "step-start"}');
INSERT INTO part VALUES('prt_9aaaabb0101', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "reasoning", "text": "", "time": {"start": 1780000002000}}');
INSERT INTO part VALUES('prt_9aaaabb0102', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "text", "text": "", "time": {"start": 1780000002000}}');
INSERT INTO part VALUES('prt_9aaaabb0103', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "running", "input": {"command": "sleep 9"}, "time": {"start": 1780000002300, "end": 1780000003800}, "metadata": {"output": "started\n"}}}');
INSERT INTO part VALUES('prt_9aaaabb0104', 'msg_9aaaabb01', 'ses_19aaaabbbbccccDDDDEEEEFFFF', 1780000002000, 1780000002000, '{"type": "step-finish", "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}');
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
