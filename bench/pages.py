"""Pages of results as text, for people who read them: the conversation, and what its page says of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.dashboard.views.scored import is_estimated
from app.judge.judge import Judgement

_SIDES = {"agent": "Agent", "customer": "Customer", "bot": "Bot"}


def page_of(title: str, messages: Sequence[Mapping[str, str]], found: Judgement) -> str:
    """Write a conversation and its result as its page and the API show it."""
    talk = (f"{_SIDES[item['side']]}: {item['text']}" for item in messages)
    return "\n".join([title, "", *talk, "", "-" * 72, *_result(found.results), ""])


def _result(results: Mapping[str, Any]) -> Iterator[str]:
    verdict = results["band"] or results["noVerdictReason"] or "no score"
    if is_estimated(results):
        verdict = "estimated: little is sure"
    yield f"Score: {results['score']} of 100, {verdict}"
    resolution = results["resolution"]
    yield f"Status: {resolution['status']} (probability {resolution['probability']})"
    yield f"  {resolution['explanation']}"
    yield from _quotes(resolution["evidence"])
    yield "Summary"
    told = {name: text for name, text in results["summary"].items() if name != "actionItems"}
    yield from (f"  {name}: {text}" for name, text in told.items() if text)
    yield from (f"  to do: {item}" for item in results["summary"]["actionItems"])
    yield "Scorecard"
    for item in results["criteria"]:
        if item["normalizedScore"] is not None:
            yield from _criterion(item)
    if results["complianceChecked"]:
        yield f"  Checked: {', '.join(results['complianceChecked'])}"
    folded = [item["title"] for item in results["criteria"] if item["normalizedScore"] is None]
    yield f"  Not judged ({len(folded)}, folded): {', '.join(folded)}"
    for name, advice in results["coaching"].items():
        yield from _listed(name.capitalize(), [item["text"] for item in advice])
    yield from _listed("Topics", results["topics"])
    moments = (
        f"Message {_number(item['segmentId'])}: {item['label']}" for item in results["moments"]
    )
    yield from _listed("Moments", list(moments))


def _criterion(item: Mapping[str, Any]) -> Iterator[str]:
    sure = "" if item["confidence"] is None else f" ({100 * item['confidence']:.0f} % sure)"
    points = f", {item['points']:g} of {item['maxPoints']:g}" if item["maxPoints"] else ""
    yield f"  {item['title']}: {item['answer']}{points}{sure}"
    yield f"    {item['explanation']}"
    yield from (f"  {quote}" for quote in _quotes(item["evidence"]))
    if item["suggestion"]:
        yield f"    Better: {item['suggestion']}"


def _number(segment_id: str) -> int:
    return int(segment_id.removeprefix("seg_"))


def _listed(heading: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield heading
        yield from (f"  - {item}" for item in items)


def _quotes(evidence: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for item in evidence:
        yield f"  > {_SIDES.get(item['role'], item['role'])}: \u201c{item['quote']}\u201d"
