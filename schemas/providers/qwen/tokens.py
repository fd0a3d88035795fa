"""What one answer of the model cost (formats/gemini-qwen-cursor.md 2.4)."""

from __future__ import annotations

from schemas.providers._google import usage_of
from schemas.usage import TokenUsage, as_count

_COUNTS = (
    "promptTokenCount",
    "candidatesTokenCount",
    "cachedContentTokenCount",
    "thoughtsTokenCount",
    "toolUsePromptTokenCount",
    "totalTokenCount",
)


def read_usage(metadata: object) -> TokenUsage | None:
    """An assistant record's `usageMetadata`; None if it has no figures.

    Whether thinking is counted in the candidates depends on whom Qwen Code talks to, and the total tells: an
    OpenAI-compatible service counts it in, Google does not. Without a total that fits it is taken to be counted in.
    """
    if not isinstance(metadata, dict):
        return None
    prompt, written, cached, thoughts, tool, total = map(as_count, map(metadata.get, _COUNTS))
    known = (prompt or 0) + (written or 0)
    apart = known + (thoughts or 0)
    outside = total != known and total in (apart, apart + (tool or 0))
    usage = usage_of(prompt, written, cached, thoughts, None if total == known else tool, not outside)
    if (
        usage is not None
        and usage.reasoning is not None
        and usage.output is not None
        and usage.reasoning > usage.output
    ):
        return usage._replace(reasoning=usage.output)
    return usage
