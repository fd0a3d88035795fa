"""`make fuzz`, or `python -m tests.fuzz --seconds 60 --seed 7`: tries mutants and says what they break."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory, mkdtemp

from tests.fuzz.mutants import Fuzz, failure_kind, run


def main(arguments: list[str]) -> int:
    """Try mutants and say what failed; returns 1 if anything did."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--seed", type=int, help="the first mutant's seed (any)")
    parser.add_argument("--inputs", type=int, help="so many mutants, and no properties")
    options = parser.parse_args(arguments)
    first = SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    end = time.monotonic() + options.seconds
    kinds: Counter[str] = Counter()
    at = first

    def seeds() -> Iterator[int]:
        nonlocal at
        for at in range(first, first + (options.inputs or sys.maxsize)):
            if time.monotonic() >= end:
                return
            yield at

    def fail(seed: int, error: BaseException) -> None:
        kind = failure_kind(error)
        kinds[kind] += 1
        if kinds[kind] == 1:
            kept = fuzz.keep(seed, Path(mkdtemp(prefix="turnlog-fuzz-")))
            print(f"\nSEED={seed} {fuzz.source(seed).path.name}, kept as {kept}\n{kind}", flush=True)
            traceback.print_exception(error, limit=-4, file=sys.stdout)

    print(f"SEED={first}", flush=True)
    with TemporaryDirectory() as folder:
        fuzz = Fuzz(Path(folder), shared=True)
        try:
            count = run(fuzz, seeds(), fail)
        except KeyboardInterrupt:
            print(f"\nended while at SEED={at}")
            count = at - first
    print(f"{count:,} mutants from SEED={first}, {sum(kinds.values()):,} failed in {len(kinds)} ways")
    for kind, number in kinds.most_common():
        print(f"{number:6} {kind}")
    broken = _explore(first) if options.inputs is None else 0
    return 1 if kinds or broken else 0


def _explore(seed: int) -> int:
    """Try every property with examples that `make test` does not choose; returns pytest's exit code."""
    options = ["-m", "hypothesis", "--hypothesis-profile=explore", f"--hypothesis-seed={seed}"]
    return subprocess.call([sys.executable, "-m", "pytest", "-n", "2", *options])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
