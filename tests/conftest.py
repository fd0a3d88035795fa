"""For all tests: properties assert what is true, never how quickly; a busy machine must not fail one."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("turnlog", deadline=None)
settings.load_profile("turnlog")
