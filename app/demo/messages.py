"""Messages about the demo: what was loaded, and where to look."""

from collections.abc import Mapping

_PATHS = (
    ("/evaluations?sort=score", "all evaluations, the lowest score first"),
    ("/evaluations/{id}/results", "one evaluation: criteria, evidence, moments, coaching"),
    ("/analytics/summary", "figures of the whole call centre"),
    ("/analytics/executives?minEvaluations=1", "figures of each agent, and of the bot"),
    ("/conversations, /voice-calls, /audio-files", "the conversations themselves"),
)


def loaded(new: Mapping[str, int]) -> str:
    """Return the message that says how many records of which kind are new."""
    parts = [f"{number} {noun}" for noun, number in new.items() if number]
    if not parts:
        return "The demo was loaded before: nothing was changed."
    return f"The demo is loaded: {', '.join(parts)}."


def places_to_look() -> list[str]:
    """Return the lines that name paths to look at."""
    return [
        "Look at these paths below /api/v1:",
        *(f"  {path:<44}{description}" for path, description in _PATHS),
        "docs/first-hour.md reads them with a script.",
    ]
