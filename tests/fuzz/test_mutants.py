"""A short run of `make fuzz`, the same every time: what it finds is mended, and its seed becomes a case of its kind."""

from __future__ import annotations

import pytest

from tests.fuzz.mutants import Fuzz, failure_kind, run

INPUTS = 160


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory: pytest.TempPathFactory) -> Fuzz:
    return Fuzz(tmp_path_factory.mktemp("fuzz"), shared=False)


@pytest.mark.parametrize("first", range(0, INPUTS, INPUTS // 4))
def test_whatever_a_file_holds_the_laws_are_kept(fuzz: Fuzz, first: int) -> None:
    failed: dict[str, int] = {}
    run(fuzz, range(first, first + INPUTS // 4), lambda seed, error: failed.setdefault(failure_kind(error), seed))
    assert not failed, "\n".join(f"SEED={seed} {kind}" for kind, seed in failed.items())


def test_a_seed_makes_the_same_mutant_again(fuzz: Fuzz, tmp_path) -> None:
    again = Fuzz(tmp_path, shared=False)
    for seed in range(30):
        first, second = (one.keep(seed, tmp_path) for one in (fuzz, again))
        assert first.read_bytes() == second.read_bytes()
