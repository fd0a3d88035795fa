"""`python -m tests.cases [--update] [FOLDER…]`: which cases differ; `--update` writes what is read now, for review."""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
from pathlib import Path

import tests.conftest  # noqa: F401  # what is read must not depend on the machine
from tests.cases.case import EXPECTED, ROOT, cases


def main() -> int:
    """Compare or update the cases; exit code 1 if one differs and was not updated."""
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what is read now into expected.txt")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="cases, or folders of cases")
    args = parser.parse_args()
    seen = different = 0
    for case in cases(*[folder.resolve() for folder in args.folders] or [ROOT]):
        with tempfile.TemporaryDirectory() as folder:
            _, text = case.read(Path(folder) / "case")
        seen += 1
        if text == case.expected:
            continue
        different += 1
        if args.update:
            (case.folder / EXPECTED).write_text(text, "utf-8")
            print(f"updated {case.name}")
        else:
            before, now = case.expected.splitlines(), text.splitlines()
            print("\n".join(difflib.unified_diff(before, now, case.name, "now", lineterm="")))
    print(f"{seen} cases, {different} {'updated' if args.update else 'different'}")
    return int(different > 0 and not args.update)


if __name__ == "__main__":
    sys.exit(main())
