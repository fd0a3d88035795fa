from __future__ import annotations
from schemas.message import Message
from schemas.session import Session
def build_message(session: Session, index: int) -> Message:
    raise NotImplementedError
