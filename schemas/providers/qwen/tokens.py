"""What one answer of the model cost (formats/gemini-qwen-cursor.md 2.4)."""

from __future__ import annotations

from schemas.providers._google import normalised
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of


def read_usage(metadata: object) -> TokenUsage | None:
    """An assistant record's `usageMetadata`; None if it has no figures.

    Whether thinking is counted in the candidates depends on whom Qwen Code talks to, and the total tells: an
    OpenAI-compatible service counts it in, Google does not. Without a total that fits it is taken to be counted in.
    """
    data = dict_of(metadata)
    prompt, written = data.get("promptTokenCount"), data.get("candidatesTokenCount")
    thoughts, tool = as_count(data.get("thoughtsTokenCount")), as_count(data.get("toolUsePromptTokenCount"))
    total = as_count(data.get("totalTokenCount"))
    known = (as_count(prompt) or 0) + (as_count(written) or 0)
    apart = known + (thoughts or 0)
    outside = total != known and total in (apart, apart + (tool or 0))
    usage = normalised(
        prompt,
        written,
        data.get("cachedContentTokenCount"),
        thoughts,
        None if total == known else tool,
        thoughts_inside=not outside,
    )
    if usage is not None and usage.reasoning is not None and usage.output is not None:
        return usage._replace(reasoning=min(usage.reasoning, usage.output))
    return usage
