"""What is said about the demo: what came in, and where to look."""

from collections.abc import Mapping

_PLACES = (
    ("/evaluations?sort=score", "every judgement, the lowest score first"),
    ("/evaluations/{id}/results", "one of them: criteria, evidence, moments, coaching"),
    ("/analytics/summary", "the whole"),
    ("/analytics/executives?minEvaluations=1", "who does how well; the bot on its own"),
    ("/conversations, /voice-calls, /audio-files", "what was said"),
)


def arrival(new: Mapping[str, int]) -> str:
    """Say what came in."""
    parts = [f"{number} {noun}" for noun, number in new.items() if number]
    if not parts:
        return "The demo is there already: nothing was changed."
    return f"The demo is loaded: {', '.join(parts)}."


def places() -> list[str]:
    """Say where to look."""
    return [
        "Look at, below /api/v1:",
        *(f"  {path:<44}{what}" for path, what in _PLACES),
        "The README walks through them under `A tour`.",
    ]
