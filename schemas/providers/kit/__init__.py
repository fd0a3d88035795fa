"""The kit: an agent's module says what a record holds, the kit makes sessions of it, live or whole.

- `words`: what a record can hold, the vocabulary of `Agent.read`.
- `history`: what depends on more than one record, a policy class an agent; trees of records that name their parents.
- `agent`: what an agent declares; `bases`: `Lines`, `Stream`, `Document`, `Tree`, `Prose`, `Database` and its tables.
- `files`: the JSON files of a `Tree`, each read again only when it was written; `gathered`: the reading of all that is.
- `reader`: the loop over records; `messages`, `talk`, `uses`, `tokens` and `facts` are its subjects.
- `pipe`: what agents print, the runs in it, plain text between them, its end; live or saved.
- `build`: a message, folded again from its records when somebody looks at it.

Nothing in here names an agent or an idea of one format.
"""
