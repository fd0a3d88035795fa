"""The preview of the session under the cursor: beside the list, where there is room. Facts and words of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from renderers.facts import cost_fact, format_count, format_size, local_time, plural, short_model
from schemas.clean import one_line
from viewer.output import short_path
from viewer.usage.costs import NO_COSTS, Costs

if TYPE_CHECKING:
    from schemas.usage import TokenUsage
    from viewer.index.summary import Summary

_PROMPT_CHARS = 600


def preview(summary: Summary, costs: Costs = NO_COSTS) -> Content:
    """The preview of a session: what was asked first, what was asked last, what was answered, what it took. `costs`:
    without and with its subagents, as far as they are known.
    """
    dim = "$text-muted"
    pieces: list[Content] = [Content.styled(summary.shown_title, "bold"), Content("\n")]
    if not summary.read:
        return Content("").join([*pieces, Content.styled(f"{summary.provider}\n{short_path(summary.path)}", dim)])
    models = ", ".join(filter(None, map(short_model, summary.models)))
    facts = [summary.provider, models, plural(summary.exchanges, "exchange")]
    pieces.append(Content.styled(" · ".join(filter(None, facts)), dim))
    where = short_path(one_line(summary.workspace_root, 4096)) if summary.workspace_root else ""
    if summary.branch:
        where += f" on {summary.branch}"
    pieces.append(Content.styled(f"\n{where}" if where else "", dim))
    pieces.append(Content.styled(f"\n{_times(summary)}", dim))
    if summary.failure and not summary.live:
        ended = "was interrupted" if summary.failure == "interrupted" else "ended in an error"
        pieces.append(Content.styled(f"\n! its last exchange {ended}", "$warning"))
    for label, text in _words(summary):
        pieces += [Content.styled(f"\n\n{label}\n", "$accent"), Content(text)]
    pieces += [Content.styled("\n\ntokens\n", "$accent"), *_tokens(summary, costs)]
    lines = sum(map(len, summary.unreadable.values()))
    if lines:
        pieces.append(Content.styled(f"\n{plural(lines, 'line')} could not be read", "$warning"))
    pieces.append(Content.styled(f"\n\n{format_size(summary.size)} · {summary.id}", dim))
    return Content("").join(pieces)


def _times(summary: Summary) -> str:
    ended = summary.when
    if summary.created is None:
        return local_time(ended, date=True)
    begun = local_time(summary.created, date=True)
    last = local_time(ended, date=True)
    return f"{begun} – {last[11:] if last[:10] == begun[:10] else last}"


def _words(summary: Summary) -> list[tuple[str, str]]:
    last = summary.last_prompt if summary.last_prompt != summary.first_prompt else ""
    words = ("first prompt", summary.first_prompt), ("last prompt", last), ("last answer", summary.last_text)
    return [(label, text[:_PROMPT_CHARS]) for label, text in words if text]


def _tokens(summary: Summary, costs: Costs) -> list[Content]:
    own, everything = summary.usage, summary.usage_with_subagents
    cost, whole_cost = map(cost_fact, costs)
    if own is None or own.total is None:
        return [Content.styled("unknown", "$text-muted")]
    pieces = [
        Content(" · ".join(filter(None, (format_count(own.total), cost if own.total else "")))),
        Content.styled(f"\n{_parts(own)}", "$text-muted"),
    ]
    if summary.subagents and everything is not None and everything.total != own.total:
        with_them = f"{format_count(everything.total)} with {plural(summary.subagents, 'subagent')}"
        pieces.append(Content.styled("\n" + " · ".join(filter(None, (with_them, whole_cost))), "$text-muted"))
    return pieces


def _parts(usage: TokenUsage) -> str:
    figures = {"in": usage.input, "cache read": usage.cache_read, "write": usage.cache_write, "out": usage.output}
    said = (f"{name} {format_count(count)}" for name, count in figures.items() if count is not None)
    return " · ".join(one.replace(" ", "\u00a0") for one in said)  # a line may end between figures, not within one
