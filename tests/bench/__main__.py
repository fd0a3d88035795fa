"""`make bench`, or `python -m tests.bench parse keys …` for some of it."""

from __future__ import annotations

import os
import platform
import sys
import time

from tests.bench import build
from tests.bench.measures import ALL


def main(names: list[str]) -> int:
    """Run the named measurements (all without names) and print each row as it comes."""
    if unknown := set(names) - set(ALL):
        print(f"no such measurement: {', '.join(sorted(unknown))}; there are {', '.join(ALL)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores; sessions made of {build.source()[0]}")
    print(f"{'what':34} {'figure':58} bar")
    for name, measure in ALL.items():
        if names and name not in names:
            continue
        start = time.perf_counter()
        for row in measure():
            print(f"{row.what:34} {row.figure:58} {row.bar}", flush=True)
        print(f"{'':34} ({name}: {time.perf_counter() - start:.0f} s)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
