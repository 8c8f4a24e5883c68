"""Status of a conversation by what its ledger states; nothing is guessed."""

from training.acts.ledger import CLOSED, Entry, Ledger, RequestKind, State

RESOLVED, PARTLY, UNRESOLVED = "resolved", "partially_resolved", "unresolved"
ESCALATED = "escalated"
_ENDED_BADLY = frozenset(
    {
        *(State.DENIED, State.GIVEN_UP, State.TAKEN_BACK),
        *(State.REFUSED, State.FAILED, State.SENT_ELSEWHERE),
    }
)
_ENDED_WELL = frozenset({State.DONE, State.CONFIRMED})


def stated_status(ledger: Ledger) -> str | None:
    """Return the status that lines of the conversation state; None where none does."""
    states = {entry.state for entry in _matters(ledger)}
    if not states:
        return None
    if _is_escalated(ledger, states):
        return ESCALATED
    if states <= _ENDED_WELL:
        return RESOLVED
    if states <= _ENDED_BADLY:
        return UNRESOLVED
    if State.PARTLY in states or (states & _ENDED_WELL and states & _ENDED_BADLY):
        return PARTLY
    return None


def _matters(ledger: Ledger) -> list[Entry]:
    # The requests for a matter; those for a person where there are no others.
    entries = [entry for entry in ledger.entries if entry.kind is not RequestKind.PERSON]
    return entries or list(ledger.entries)


def _is_escalated(ledger: Ledger, states: set[State]) -> bool:
    # Somebody else took the matter over, and nothing came of it yet.
    handed_over = any(entry.last(State.TRANSFERRED) for entry in ledger.entries)
    return handed_over and states.isdisjoint(CLOSED | _ENDED_BADLY)
