"""A short run of `make fuzz`, the same every time: what it finds is mended, and its seed becomes a case of its kind."""

from __future__ import annotations

import pytest

from tests.fuzz.mutants import Fuzz, failure_kind, run

INPUTS = 60


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory: pytest.TempPathFactory) -> Fuzz:
    return Fuzz(tmp_path_factory.mktemp("fuzz"), shared=False)


@pytest.mark.parametrize("first", range(0, INPUTS, INPUTS // 4))
def test_whatever_a_file_holds_the_laws_are_kept(fuzz: Fuzz, first: int) -> None:
    failed: dict[str, int] = {}
    seeds = range(2 * first, 2 * first + INPUTS // 2, 2)
    run(fuzz, seeds, lambda seed, error: failed.setdefault(failure_kind(error), seed))
    assert not failed, "\n".join(f"SEED={seed} {kind}" for kind, seed in failed.items())


def test_a_seed_makes_the_same_mutant_again(fuzz: Fuzz, tmp_path) -> None:
    again = Fuzz(tmp_path, shared=True)
    for seed in range(0, 20, 2):
        first, second = (one.keep(seed, tmp_path) for one in (fuzz, again))
        assert first.read_bytes() == second.read_bytes()
