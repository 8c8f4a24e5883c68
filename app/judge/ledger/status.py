"""Status of a conversation as its ledger states it, and the probabilities that go with it."""

from collections.abc import Sequence

from app.judge.ledger.entries import CLOSED, Entry, Ledger, State

RESOLVED, PARTLY, UNRESOLVED = "resolved", "partially_resolved", "unresolved"
ESCALATED, UNKNOWN = "escalated", "unknown"
_ENDED_BADLY = frozenset(
    {
        *(State.DENIED, State.GIVEN_UP, State.TAKEN_BACK),
        *(State.REFUSED, State.FAILED, State.SENT_ELSEWHERE),
    }
)
# What was only promised or put off is not done.
_NOT_DONE = _ENDED_BADLY | {State.PROMISED, State.PUT_OFF}
_ENDED_WELL = frozenset({State.DONE, State.CONFIRMED})
# The probabilities of a resolution that go with a status.
_RANGES = {
    RESOLVED: (0.5, 1.0),
    PARTLY: (0.3, 0.7),
    ESCALATED: (0.1, 0.6),
    UNRESOLVED: (0.0, 0.5),
    UNKNOWN: (0.0, 1.0),
}


def stated_status(ledger: Ledger) -> str | None:
    """Return the status that lines of the conversation state; None where none does."""
    states = {entry.state for entry in _without_settled(ledger.matters)}
    if not states:
        return None
    if _is_escalated(ledger, states):
        return ESCALATED
    if states <= _ENDED_WELL or (states <= CLOSED and ledger.ends_content):
        return RESOLVED
    if states <= _NOT_DONE:
        return UNRESOLVED
    if State.PARTLY in states or (states & _ENDED_WELL and states & _NOT_DONE):
        return PARTLY
    return None


def _without_settled(matters: Sequence[Entry]) -> list[Entry]:
    """Leave out requests that nothing answered, if the customer confirmed something later."""
    confirmed = [entry.moved_at for entry in matters if entry.state is State.CONFIRMED]
    last = max(confirmed, default=-1)
    return [entry for entry in matters if entry.state is not State.OPEN or entry.moved_at > last]


def probability_within(status: str, probability: float) -> float:
    """Move a probability into the range of its status, so that a higher one stays higher."""
    low, high = _RANGES[status]
    return round(low + (high - low) * probability, 4)


def _is_escalated(ledger: Ledger, states: set[State]) -> bool:
    # Somebody else took the matter over, and nothing came of it yet.
    handed_over = any(entry.last(State.TRANSFERRED) for entry in ledger.entries)
    return handed_over and states.isdisjoint(CLOSED | _ENDED_BADLY)
