PRAGMA journal_mode=wal;
CREATE TABLE threads (id, name, title, first_user_message);
INSERT INTO threads VALUES('019a0000-0000-7000-8000-00000000000a', NULL, 'fix it', 'fix it please');
