CREATE TABLE conversation_summaries (conversationId TEXT, title TEXT, tldr TEXT);
INSERT INTO conversation_summaries VALUES('5c0fe000-0000-4000-8000-00000000000a', 'Tracked', '');
INSERT INTO conversation_summaries VALUES('other', 'No', '');
