"""Each response once, in however many files it lies: forks, resumed sessions and sidechains copy what was said."""

from __future__ import annotations


class Once:
    """Tells a response that another session counted already.

    Within a session the provider has told copies from responses, and not every agent names its responses: only what
    another session counted is a copy.
    """

    def __init__(self) -> None:
        self.copies = 0
        self._others: dict[int, str] = {}
        self._current: dict[int, str] = {}
        self._name = ""

    def begin_session(self, name: str = "") -> None:
        """What is asked about from now on is another session's, its subagents included; `name` is for `where`."""
        self._others |= self._current
        self._current = {}
        self._name = name

    def is_new(self, key: int) -> bool:
        """Whether a response (`viewer.summary.response_key`) counts; False, and one copy more, where another session
        counted it.
        """
        if key in self._others:
            self.copies += 1
            return False
        self._current[key] = self._name
        return True

    def where(self, key: int) -> str:
        """The session that counted it; empty if none did."""
        return self._current.get(key) or self._others.get(key, "")
