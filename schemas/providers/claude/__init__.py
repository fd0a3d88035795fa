"""Claude Code: its sessions (`agent`) and what it prints (`stream`)."""

from __future__ import annotations

from schemas.providers.claude.agent import Claude

PROVIDER = Claude()
