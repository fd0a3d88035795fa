"""Images in sessions: how large they are, by their first bytes."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.images import Picture, image_bytes, picture_in, picture_of

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + b"\x08\x02\0\0\0"
JPEG = (
    b"\xff\xd8\xff\xe1" + struct.pack(">H", 50_002) + b"\xff" * 50_000 + b"\xff\xff\xc4\0\x04xx"
    b"\xff\xc2" + struct.pack(">HBHH", 17, 8, 480, 640)
)  # fmt: skip
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + b"\x0a\0\0\0\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
VP8 = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640 | 0x4000, 480)
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14)
KINDS = [("png", PNG), ("jpeg", JPEG), ("gif", GIF), ("webp", VP8X), ("webp", VP8), ("webp", VP8L)]


@pytest.mark.parametrize(("kind", "head"), KINDS)
@pytest.mark.parametrize("before", ["", "data:image/png;base64,"])
def test_the_size_stands_in_the_first_bytes(kind: str, head: bytes, before: str) -> None:
    data = before + base64.b64encode(head + bytes(1000)).decode()
    assert picture_in(data) == Picture(kind, 640, 480)
    assert image_bytes(data) == head + bytes(1000)


@pytest.mark.parametrize("data", ["", "AAAA", "A", "iVBORw0KGgo=", "no base64 at all", "base64,"])
def test_what_is_no_picture(data: str) -> None:
    assert picture_in(data) is None


@given(st.sampled_from(KINDS), st.data())
def test_damaged_ones_are_none_or_some_picture(kind: tuple[str, bytes], data: st.DataObject) -> None:
    """Cut anywhere, and with any byte changed."""
    head = kind[1]
    assert picture_of(head[: data.draw(st.integers(0, len(head) - 1))]) in (None, Picture(kind[0], 640, 480))
    at = data.draw(st.integers(0, len(head) - 1))
    found = picture_of(head[:at] + data.draw(st.binary(max_size=3)) + head[at + 1 :])
    assert found is None or (found.width >= 0 and found.height >= 0)
