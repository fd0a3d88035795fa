"""What holds for all tests of the program."""

from __future__ import annotations

import pytest

from viewer.costs import load


@pytest.fixture(autouse=True, scope="session")
def _prices() -> None:
    """Screens show costs once prices are loaded: here from the start, else texts would depend on time."""
    load()
