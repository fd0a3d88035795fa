"""Compressed rollouts: Codex packs archived ones a week after their last change."""

from __future__ import annotations

import os
from pathlib import Path

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20


def decompressed_start(path: Path, limit: int) -> bytes:
    """The beginning of what a compressed file holds, up to its first newline or `limit`. Raises OSError."""
    import zstandard

    data = b""
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            while len(data) < limit and b"\n" not in data and (more := stream.read(min(limit, 1 << 16))):
                data += more
    except zstandard.ZstdError as error:
        raise OSError(f"a damaged zstd file ({error})") from error
    return data


def decompress(path: Path) -> int:
    """The whole content in a file that has no name and goes with its descriptor, which is returned.

    Raises OSError: a damaged or cut file must not pass for a short session.
    """
    import tempfile  # a list need not wait for it

    import zstandard

    with tempfile.TemporaryFile() as target, path.open("rb") as source:
        decoder = zstandard.ZstdDecompressor().decompressobj()
        fresh = True
        try:
            while data := source.read(_CHUNK):
                while data:
                    target.write(decoder.decompress(data))
                    fresh = False
                    data = b""
                    if decoder.eof:
                        data = decoder.unused_data
                        decoder, fresh = zstandard.ZstdDecompressor().decompressobj(), True
        except zstandard.ZstdError as error:
            raise OSError(f"a damaged zstd file ({error})") from error
        if not fresh:
            raise OSError("a damaged zstd file (it ends too early)")
        target.flush()
        return os.dup(target.fileno())
