"""Copies of what stands in a transcript: of a block, an exchange or an address, and the last one once more as it is."""

from __future__ import annotations

from collections.abc import Callable

from renderers.places import place_of
from viewer.screens.config_keys import effective, key_name
from viewer.screens.program import program
from viewer.transcript.clipboard import Copy, address_copy, put_on_clipboard, redacted, redacted_text
from viewer.transcript.select import message_source, redacted_source
from viewer.transcript.view import TranscriptView


class Copies:
    """Copies what is under a view's cursor, which there must be. `name_of` names an exchange."""

    def __init__(self, view: TranscriptView, name_of: Callable[[int], str]) -> None:
        self._view, self._name_of = view, name_of
        self._last: Copy | None = None

    def block(self) -> None:
        """Copy the block, or what is selected."""
        if selected := self._view.screen.get_selected_text():
            self._copy(redacted_text("the selection", selected))
            self._view.screen.clear_selection()
            return
        session = self._view.session
        message, root = session.message(self._view.cursor.block), session.workspace_root
        self._copy(
            redacted(
                message.kind.name.lower(),
                lambda redactor: (
                    redacted_source(message, root, redactor) if redactor is not None else message_source(message, root)
                ),
            )
        )

    def exchange(self) -> None:
        """Copy the exchange as Markdown: prompt, answers, a line a tool use."""
        from renderers.markdown import render_exchange
        from renderers.options import MAX_COMMENT

        session = self._view.session
        exchange = session.messages.exchange[self._view.cursor.block]
        what = f"{self._name_of(exchange)} as Markdown"
        copy = redacted(what, lambda redactor: render_exchange(session, exchange, redactor))
        self._copy(copy, f"A comment on GitHub takes {MAX_COMMENT:,}." if len(copy.text) > MAX_COMMENT else "")

    def address(self) -> None:
        """Copy the block's address."""
        session = self._view.session
        self._copy(address_copy(f"{session.id}{place_of(session, self._view.cursor.block)}"))

    def as_it_is(self) -> None:
        """Copy what was copied last as it is."""
        if self._last is not None:
            self._copy(self._last, as_it_is=True)
        else:
            program(self._view).say("Nothing was copied yet.")

    def _copy(self, copy: Copy, note: str = "", *, as_it_is: bool = False) -> None:
        self._last = copy
        table = effective("transcript", program(self._view).keymap)
        keys = next(key.keys for key in table if key.action == "copy_as_it_is")
        said = put_on_clipboard(self._view.app, copy, key_name(keys[0]), as_it_is=as_it_is)
        program(self._view).say("\n".join(filter(None, (said, note))), seconds=8)
