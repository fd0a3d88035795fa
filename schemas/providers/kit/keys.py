"""Numbers that stand for ids, made fast: a session has hundreds of thousands of them."""

from __future__ import annotations


def key_of(text: str) -> int:
    """A 61-bit number for an id, the same in every process. A UUID's digits are one already.

    An integer's hash is its remainder by a Mersenne prime: good enough for ids, without the start-up cost of OpenSSL.
    """
    if len(text) == 36:
        try:
            return hash(int(text.replace("-", ""), 16))
        except ValueError:
            pass  # 36 characters, but no UUID
    return hash(int.from_bytes(text.encode("utf-8", "surrogatepass"), "little"))


def block_key(key: int, block: int) -> int:
    """The number of content block `block` of the record with the number `key`."""
    return (key + block * 0x9E37_79B9_7F4A_7C15) & 0xFFFF_FFFF_FFFF_FFFF
