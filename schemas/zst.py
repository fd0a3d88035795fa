"""Files packed with zstd: their beginning, and the whole of them. Codex packs rollouts that it has archived."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from schemas.provider import beginning

MAGIC = b"\x28\xb5\x2f\xfd"
_HEAD = 16 << 20
"""How much is unpacked to find the end of the first lines: tools with schemas have made a first one megabytes long."""
_CHUNK = 1 << 10
"""Bytes taken at once: the least that 128 KB can be packed into is four, so they are never more than 32 MB unpacked."""
_ANY, _RATIO, _MOST = 64 << 20, 100, 1 << 30
"""A session packs to a tenth or a thirtieth. What unpacks to more than 64 MB may be a hundred times its size, and never
more than 1 GB: it is unpacked into a file, and the place for such files may be memory.
"""


def beginning_of(path: Path) -> bytes:
    """The bytes that tell what a compressed file is. Raises OSError."""
    import zstandard

    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            return beginning(lambda _, length: stream.read(length), _HEAD)[0]
    except zstandard.ZstdError as error:
        raise OSError(f"a damaged zstd file ({error})") from error


@lru_cache(maxsize=4096)
def unpacks(path: Path, size: int, changed: int) -> bool:
    """Return whether a compressed file can be unpacked to its end: asked once a change, and only where another file of
    the same session would be hidden by a damaged one.
    """
    try:
        os.close(decompress(path))
    except OSError:
        return False
    return True


def decompress(path: Path) -> int:
    """The whole content in a file that has no name and goes with its descriptor, which is returned.

    Raises OSError: a damaged or cut file must not pass for a short session, and one that was made to fill the disk is
    none.
    """
    import tempfile  # a list need not wait for it

    import zstandard

    from schemas.figures import format_size

    with tempfile.TemporaryFile() as target, path.open("rb") as source:
        size = os.fstat(source.fileno()).st_size
        most = max(_ANY, min(_RATIO * size, _MOST))
        decoder, written = None, 0
        try:
            while data := source.read(_CHUNK):
                while data:
                    decoder = decoder or zstandard.ZstdDecompressor().decompressobj()
                    written += target.write(decoder.decompress(data))
                    if written > most:
                        sizes = f"{format_size(size)} that unpack to more than {format_size(most)}"
                        raise OSError(f"unreadable: {sizes}, as no session does")
                    data = decoder.unused_data  # of the next frame, once this one is over
                    decoder = None if decoder.eof else decoder
        except zstandard.ZstdError as error:
            raise OSError(f"a damaged zstd file ({error})") from error
        if decoder is not None:
            raise OSError("a damaged zstd file (it ends too early)")
        target.flush()
        return os.dup(target.fileno())
