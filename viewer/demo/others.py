"""The demo's smaller sessions: of Codex and Gemini CLI, and a few short ones that give the list something to list."""

from __future__ import annotations

from viewer.demo.claude import ClaudeSession, Say, Think
from viewer.demo.codex import CodexSession
from viewer.demo.files import Files
from viewer.demo.gemini import GeminiSession

POSTBOX = "/home/dev/src/postbox"
TIDEWATCH = "/home/dev/src/tidewatch"

_FETCH = """import { log } from "./log";

export async function fetchPage(url: string): Promise<Page> {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`${url}: ${response.status}`);
  }
  return (await response.json()) as Page;
}"""

_RETRY = """import { setTimeout as sleep } from "node:timers/promises";

const BUSY = new Set([429, 502, 503, 504]);

/** Fetch, and try again while the server says that it is busy. */
export async function patientFetch(url: string, tries = 5): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url);
    if (!BUSY.has(response.status) || attempt === tries) {
      return response;
    }
    await sleep(pause(response, attempt));
  }
}

/** What the server asked for, else 0.5 s, 1 s, 2 s … and a little chance. */
export function pause(response: Response, attempt: number): number {
  const asked = Number(response.headers.get("retry-after"));
  if (asked > 0) {
    return Math.min(asked, 60) * 1000;
  }
  return 500 * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
}
"""

_UPDATE = """@@ -1,7 +1,8 @@
 import { log } from "./log";
+import { patientFetch } from "./retry";
 
 export async function fetchPage(url: string): Promise<Page> {
-  const response = await fetch(url);
+  const response = await patientFetch(url);
   if (!response.ok) {
     throw new Error(`${url}: ${response.status}`);
   }
"""

_BUG = """@@ -16,8 +16,11 @@
 /** What the server asked for, else 0.5 s, 1 s, 2 s … and a little chance. */
 export function pause(response: Response, attempt: number): number {
-  const asked = Number(response.headers.get("retry-after"));
-  if (asked > 0) {
+  const header = response.headers.get("retry-after") ?? "";
+  // A date is allowed as well as seconds.
+  const date = (Date.parse(header) - Date.now()) / 1000;
+  const asked = /^\\d+$/.test(header) ? Number(header) : date;
+  if (asked > 0) {
     return Math.min(asked, 60) * 1000;
   }
"""


def _as_patch(name: str, diff: str) -> str:
    body = diff.split("\n", 1)[1]
    return f"*** Begin Patch\n*** Update File: {name}\n@@\n{body}*** End Patch\n"


def postbox(start: float) -> CodexSession:
    """Codex teaches an importer patience."""
    session = CodexSession("postbox", start, POSTBOX, branch="retry")
    session.prompt(
        "The nightly import dies on the first 429. It should wait and try again, and do what Retry-After says."
    )
    session.think(
        "**Looking at the importer**\n\nI should see how pages are fetched and whether anything retries already."
    )
    session.say("I'll look at how pages are fetched before choosing a place for the retry.")
    session.run("rg -n 'fetch\\(' src test", "src/importer.ts:4:  const response = await fetch(url);", 0.1)
    session.run("sed -n 1,40p src/importer.ts", _FETCH, 0.1)
    session.plan(
        ("Add a fetch that waits and tries again", "in_progress"),
        ("Use it in the importer", "pending"),
        ("Test the waiting times", "pending"),
        explanation="One place fetches, so one wrapper is enough.",
    )
    added = "".join(f"+{line}\n" for line in _RETRY.splitlines())
    update = _UPDATE.split("\n", 1)[1]
    session.patch(
        "*** Begin Patch\n*** Add File: src/retry.ts\n"
        f"{added}*** Update File: src/importer.ts\n@@\n{update}*** End Patch\n",
        {
            "src/retry.ts": {"type": "add", "content": _RETRY},
            "src/importer.ts": {"type": "update", "unified_diff": _UPDATE, "move_path": None},
        },
        after=14,
    )
    failing = (
        " ✓ test/importer.test.ts (6 tests) 41ms\n"
        " ❯ test/retry.test.ts (4 tests | 1 failed) 58ms\n"
        "   ✓ waits half a second, then one, then two\n"
        "   ✓ gives up after five tries\n"
        "   ✓ waits as many seconds as Retry-After says\n"
        "   × waits until the date that Retry-After says\n"
        "     → expected 503.2 to be close to 30000\n\n"
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 9 passed (10)"
    )
    session.run("npx vitest run", failing, 2.3, exit_code=1, after=9)
    session.think(
        "**Retry-After can be a date**\n\nThe header may hold an HTTP date; Number() makes NaN of it, so we fall back."
    )
    session.say("`Retry-After` may be a date as well as a number of seconds; my code only knew seconds.")
    session.patch(
        _as_patch("src/retry.ts", _BUG), {"src/retry.ts": {"type": "update", "unified_diff": _BUG, "move_path": None}}
    )
    session.run("npx vitest run", " Test Files  2 passed (2)\n      Tests  10 passed (10)", 2.1)
    session.plan(
        ("Add a fetch that waits and tries again", "completed"),
        ("Use it in the importer", "completed"),
        ("Test the waiting times", "completed"),
    )
    session.say(
        "The importer now waits and tries again, up to five times, when the server answers 429, 502, 503 or 504.\n\n"
        "- It waits as long as `Retry-After` says, in seconds or as a date, but never more than a minute.\n"
        "- Without that header it waits 0.5 s, 1 s, 2 s, 4 s, each a little shorter or longer by chance, so that "
        "several "
        "importers do not knock at the same moment.\n"
        "- Anything else (a 404, say) fails at once, as before.\n\n"
        "The code is in `src/retry.ts`; all 10 tests pass.",
        final=True,
        after=5,
    )
    session.end_turn()
    session.prompt("how long can it take in the worst case?", 50)
    session.say(
        "Four waits of a minute each: **4 minutes**, if the server asks for a minute or more every time. "
        "Without `Retry-After` it is at most about 9 seconds.",
        final=True,
        after=6,
    )
    session.end_turn()
    return session


def red_ci(start: float) -> ClaudeSession:
    """A short question with a short answer."""
    session = ClaudeSession("red-ci", start, Files(POSTBOX, {}), branch="main")
    session.begin("Why is CI red on main?")
    session.prompt("CI is red on main since this morning, why? don't fix it yet")
    log = (
        "test  Run npx vitest run\n"
        "test  Error: Cannot find module '@postbox/fixtures/2026-05.json'\n"
        "test      at test/importer.test.ts:9:1\n"
        "test  Process completed with exit code 1."
    )
    session.reply(
        session.bash("gh run view --log-failed | tail -20", log, 2.8, about="Show the failed step"),
        session.bash(
            "git log --oneline -3", "b7c02d1 Rotate fixtures monthly\n1f09a3e Faster sorting\n4be1f7c 2.3.0", 0.1
        ),
        after=5,
    )
    session.reply(
        Say(
            "`b7c02d1` *Rotate fixtures monthly* renamed `2026-05.json` to `latest.json`; "
            "`test/importer.test.ts:9` still "
            "imports the old name. It passes on machines where the old file lies around, because it is ignored "
            "by git.\n\n"
            "> The smallest fix is one line in the test. I have changed nothing."
        ),
        after=7,
    )
    session.end_turn()
    return session


def red_ci_fork(parent: ClaudeSession, start: float) -> ClaudeSession:
    """The same session, forked to try a fix."""
    session = parent.fork("red-ci-fork", start)
    session.meta("custom-title", customTitle="Try the one-line fix for CI")
    session.prompt("try the one-line fix here")
    session.reply(
        session.bash(
            "sed -i 's/2026-05.json/latest.json/' test/importer.test.ts && npx vitest run",
            " Test Files  2 passed (2)\n      Tests  10 passed (10)",
            2.4,
            about="Change the import, run the tests",
        ),
        after=4,
    )
    session.reply(Say("Green: one line in `test/importer.test.ts`, all 10 tests pass."), after=3)
    session.end_turn()
    return session


def reykjavik(start: float) -> ClaudeSession:
    """A small addition, finished in one go."""
    files = Files(
        TIDEWATCH,
        {"harbours.toml": '[dover]\nname = "Dover"\nutc_offset = 0.0\nconstants = "dover.json"\n'},
    )
    session = ClaudeSession("reykjavik", start, files)
    session.begin("Add Reykjavík to the harbours")
    session.prompt("Add Reykjavík to the harbours, constants are in data/reykjavik.json")
    session.reply(session.read("harbours.toml"), after=3)
    session.reply(
        Think("Iceland keeps UTC all year, so the offset is 0."),
        session.edit(
            "harbours.toml",
            'constants = "dover.json"\n',
            'constants = "dover.json"\n\n'
            '[reykjavik]\nname = "Reykjavík"\nutc_offset = 0.0\nconstants = "reykjavik.json"\n',
        ),
        session.bash(
            "pytest -q tests",
            "......................................                                   [100%]\n38 passed in 1.90s",
            3.7,
        ),
        after=4,
    )
    session.reply(Say("Reykjavík is in. Iceland keeps UTC all year, so its offset is 0."), after=3)
    session.end_turn()
    return session


def backups(start: float) -> CodexSession:
    """A question about a script."""
    session = CodexSession("backups", start, "/home/dev/dotfiles", branch="main", commit="90aa1de")
    session.prompt("what does bin/nightly do, line by line, and is it safe to run twice?")
    script = (
        '#!/bin/sh\nset -eu\ncd "$HOME"\nname=backup-$(date +%F).tar.zst\n'
        "tar --zstd -cf \"/mnt/vault/$name\" --exclude-caches src notes\nfind /mnt/vault -name 'backup-*' -mtime "
        "+30 -delete"
    )
    session.run("cat bin/nightly", script, 0.1)
    session.say(
        "1. `set -eu`: stop at the first failure or unset variable.\n"
        "2. `tar --zstd -cf …`: pack `src` and `notes`, without caches, into a file named after the day.\n"
        "3. `find … -delete`: drop backups older than 30 days.\n\n"
        "**Twice on one day:** the second run overwrites the first one's file while writing it. If it is stopped "
        "half-way, "
        "that day's backup is lost. Writing to a temporary name and renaming it would be safe.",
        final=True,
        after=8,
    )
    session.end_turn()
    return session


def stations(start: float) -> GeminiSession:
    """Documents that disagree with the program; the first way to mend it is taken back."""
    readme = (
        "# tidewatch\n\n    tidewatch stations    # all stations, as JSON\n"
        "    tidewatch today dover # the tides of a day\n"
    )
    program = (
        'def stations() -> None:\n    """List the stations."""\n'
        '    for station in load():\n        print(f"{station.id:<12} {station.name}")\n'
    )
    session = GeminiSession("stations", start, Files(TIDEWATCH, {"README.md": readme, "src/cli.py": program}))
    session.prompt("README says `tidewatch stations` prints JSON, I get a table. Which one is wrong?")
    session.reply(
        "I will look at both.",
        session.read("README.md"),
        session.read("src/cli.py"),
        thought=("Comparing", "The README promises JSON; the command may never have printed any."),
    )
    session.reply(
        "The README is. `stations()` prints a table of ids and names, and nothing in `src/` has printed JSON for it.",
        session.shell("git log --oneline -S 'json.dumps' -- src/cli.py", ""),
    )
    wrong = session.prompt("Then make it print JSON")
    session.reply("I will change `stations()`.", thought=("Weighing", "Scripts may rely on the table."))
    session.rewind(wrong)
    session.prompt("No, keep the table, mend the README")
    session.reply("", session.replace("README.md", "all stations, as JSON", "all stations, as a table"))
    session.reply("Done: the README now says that `tidewatch stations` prints a table.")
    session.title("README and `tidewatch stations` disagree")
    return session
