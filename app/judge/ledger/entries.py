"""Entries of the ledger: one for each request of the customer, with its course line by line.

Only a completed act of the service side closes a request, or the customer who says that it is solved;
thanks, "ok" and good manners close nothing, and the last statement wins.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.judge.acts.catalogue import Act
from app.judge.ledger.spoken import Spoken


class State(StrEnum):
    """Last state of a request."""

    OPEN = "open"
    ASKED_BACK = "asked_back"
    IN_WORK = "in_work"
    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    PROMISED = "promised"
    EXPLAINED = "explained"
    INSTRUCTED = "instructed"
    TAKEN = "taken"
    ANSWERED = "answered"
    DONE = "done"
    CONFIRMED = "confirmed"
    PARTLY = "partly"
    DENIED = "denied"
    REFUSED = "refused"
    FAILED = "failed"
    PUT_OFF = "put_off"
    SENT_ELSEWHERE = "sent_elsewhere"
    TAKEN_BACK = "taken_back"
    TRANSFERRED = "transferred"
    GIVEN_UP = "given_up"


CLOSED = frozenset({State.ANSWERED, State.DONE, State.CONFIRMED})
# What the service side has said or done for a request, so that asking again repeats it.
_SERVED = frozenset(State) - {State.OPEN, State.ASKED_BACK, State.IN_WORK}
# A question about something that was done, or a promise about it, takes nothing back.
_KEPT = frozenset({State.DONE, State.CONFIRMED})
_WEAK = frozenset(
    {
        *(State.ASKED_BACK, State.IN_WORK, State.PROPOSED, State.PUT_OFF),
        *(State.PROMISED, State.EXPLAINED, State.INSTRUCTED, State.ANSWERED),
    }
)


class RequestKind(StrEnum):
    """Aim of a request: an action, a fact, a person, or to be left alone."""

    ACTION = "action"
    QUESTION = "question"
    PERSON = "person"
    OPT_OUT = "opt_out"


@dataclass(frozen=True, slots=True)
class Step:
    """One step in the course of a request: what it became, and in which line."""

    state: State
    position: int


@dataclass(slots=True)
class Entry:
    """A request: where it was made first, what it is about, and its course."""

    kind: RequestKind
    position: int
    content: frozenset[str]
    steps: list[Step] = field(default_factory=list)
    repeated_at: list[int] = field(default_factory=list)

    @property
    def state(self) -> State:
        return self.steps[-1].state if self.steps else State.OPEN

    @property
    def moved_at(self) -> int:
        """Return the line of the last step; that of the request where there is none."""
        return self.steps[-1].position if self.steps else self.position

    @property
    def closed(self) -> bool:
        return self.state in CLOSED

    def last(self, *states: State) -> Step | None:
        return next((step for step in reversed(self.steps) if step.state in states), None)

    def move(self, state: State, position: int) -> None:
        if self.state in _KEPT and state in _WEAK:
            return
        self.steps.append(Step(state, position))


@dataclass(frozen=True, slots=True)
class Ledger:
    """The requests of a conversation in their order.

    `open_question` is the line of the customer's last question, if nothing answered it, and
    `ends_content` says that the customer's last line takes note, thanks or says goodbye.
    """

    entries: tuple[Entry, ...]
    open_question: int | None = None
    ends_content: bool = False

    @property
    def matters(self) -> Sequence[Entry]:
        """Return the requests for a matter; those for a person where there are no others."""
        entries = [entry for entry in self.entries if entry.kind is not RequestKind.PERSON]
        return entries or self.entries


def ledger_of(lines: Iterable[Spoken]) -> Ledger:
    """Follow the requests of a conversation through its lines."""
    book = _Book()
    for line in lines:
        (book.hear if line.by_customer else book.serve)(line)
    return Ledger(tuple(book.entries), book.open_question, book.ends_content)


# The acts that lead to a state. A service line takes these steps in this order, so that of several
# in one line the last that applies wins.
STATE_ACTS: Mapping[State, tuple[Act, ...]] = {
    State.ASKED_BACK: (Act.ASK, Act.REASK, Act.VERIFY),
    State.IN_WORK: (Act.DOING,),
    State.PUT_OFF: (Act.STALL,),
    State.SENT_ELSEWHERE: (Act.ELSEWHERE,),
    State.FAILED: (Act.CANNOT, Act.UNDONE),
    State.REFUSED: (Act.REFUSE, Act.REFUSE_REASON),
    State.PROPOSED: (Act.PROPOSE,),
    State.PROMISED: (Act.PROMISE, Act.PROMISE_BY),
    State.EXPLAINED: (Act.INFORM,),
    State.INSTRUCTED: (Act.INSTRUCT,),
    State.ANSWERED: (Act.INFORM, Act.INSTRUCT, Act.PROMISE_BY, Act.NEXT),
    State.DONE: (Act.DONE,),
    State.TRANSFERRED: (Act.TRANSFER,),
    State.TAKEN_BACK: (Act.RETRACT,),
    # What the customer's lines lead to.
    State.OPEN: (Act.REQUEST, Act.REPEAT, Act.ASK, Act.COMPLAIN, Act.OPT_OUT, Act.ASK_PERSON),
    State.ACCEPTED: (Act.YES,),
    State.TAKEN: (Act.THANK, Act.PRAISE, Act.OK, Act.CLOSE, Act.YES),
    State.CONFIRMED: (Act.SOLVED,),
    State.PARTLY: (Act.PARTLY,),
    State.DENIED: (Act.UNSOLVED, Act.CORRECT),
    State.GIVEN_UP: (Act.GIVE_UP, Act.LEAVE),
}
_BY_SERVICE = tuple(STATE_ACTS)[: tuple(STATE_ACTS).index(State.OPEN)]
_ANSWERS = (
    *(Act.INFORM, Act.INSTRUCT, Act.DONE, Act.PROMISE, Act.PROMISE_BY, Act.PROPOSE),
    *(Act.REFUSE, Act.REFUSE_REASON, Act.CANNOT, Act.ELSEWHERE, Act.TRANSFER, Act.UNDONE),
)
# The customer takes these if nothing speaks against it.
_TOLD = (State.EXPLAINED, State.INSTRUCTED)
# How the customer tells whether it is solved: the likeliest counts.
_TELLS = {Act.SOLVED: State.CONFIRMED, Act.PARTLY: State.PARTLY, Act.UNSOLVED: State.DENIED}
_NEGATIVE = (
    *(Act.UNSOLVED, Act.REPEAT, Act.CORRECT, Act.COMPLAIN, Act.ANGRY, Act.DISAPPOINTED),
    *(Act.SARCASTIC, Act.CONFUSED, Act.DECLINE, Act.GIVE_UP, Act.LEAVE, Act.INSULT),
)
# By their third line, people have said who they are.
_INTRODUCED = 2
_REFUSALS = frozenset({State.REFUSED, State.FAILED, State.SENT_ELSEWHERE})
_SAME_SUBJECT = 0.5
# A line takes no step if one of these is likelier: what is only planned is not done, a goodbye puts nothing off.
_DOUBTS: Mapping[State, tuple[Act, ...]] = {
    **dict.fromkeys((State.PROMISED, State.TRANSFERRED), (Act.HYPOTHETICAL,)),
    State.DONE: (Act.HYPOTHETICAL, Act.DOING),
    State.PUT_OFF: (Act.CLOSE,),
}
# While nothing was done or told, or it was refused, only a plain word of the customer closes a request.
_BEGUN = (State.OPEN, State.ASKED_BACK, State.IN_WORK, State.PROMISED, State.TRANSFERRED)
_PLAINLY = 0.75
# With these words a visit or a call is what the customer wants.
_BOOKS = frozenset(["appointment", "book", "booking", "come", "reschedule", "schedule", "visit"])
_CONTENT = (Act.CLOSE, Act.THANK, Act.PRAISE, Act.OK)
# With these, the customer does not just take what was said.
_OPENS = (*_NEGATIVE, Act.ASK, Act.REQUEST)


class _Book:
    """The ledger while it is written."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.open_question: int | None = None
        self._named = False
        self._served: list[int] = []
        self._asked_fact = False
        self.ends_content = False

    def hear(self, line: Spoken) -> None:
        """Enter what the customer asks for, confirms, denies or gives up."""
        self._asked_fact = line.asks_fact
        self.ends_content = line.shows(*_CONTENT) and not line.shows(*_OPENS)
        if line.shows(Act.ASK, Act.REPEAT) or (line.asks_fact and _kind_of(line) is not None):
            self.open_question = line.position
        if not self._turns(line):
            self._ask(line)
        self._reply(line)
        if line.shows(*STATE_ACTS[State.GIVEN_UP]) and not _accepts(line):
            left_angry = line.shows(Act.ANGRY, Act.COMPLAIN)
            for entry in self.entries:
                if not entry.closed or (left_angry and entry.state is not State.CONFIRMED):
                    entry.move(State.GIVEN_UP, line.position)

    def _reply(self, line: Spoken) -> None:
        told = max(_TELLS, key=line.most)
        if line.shows(told) and told is Act.SOLVED:
            self._close(line)
        elif line.shows(told):
            self._move(line, _TELLS[told])
        elif line.shows(Act.CORRECT) and self._state() in (State.DONE, State.ANSWERED):
            # It was not done as asked.
            self._move(line, State.DENIED)
        state = self._state()
        if state is State.PROPOSED and line.shows(Act.YES):
            self._move(line, State.ACCEPTED)
        elif state is State.PROPOSED and line.shows(Act.DECLINE):
            # What was said before the proposal stands.
            self.entries[-1].steps.pop()
        elif state is State.ANSWERED and line.shows(Act.DECLINE):
            self._move(line, State.OPEN)
        elif state in _TOLD and line.shows(*STATE_ACTS[State.TAKEN]) and not line.shows(*_OPENS):
            self._move(line, State.TAKEN)

    def serve(self, line: Spoken) -> None:
        """Enter what the service side does for the requests."""
        if line.shows(*_ANSWERS):
            self.open_question = None
        is_named = line.shows(Act.NAME) and not line.names_customer
        is_another = is_named and (self._named or len(self._served) >= _INTRODUCED)
        self._named = self._named or is_named
        self._served.append(line.position)
        entry = self._addressed(line)
        if entry is None:
            return
        for state in _BY_SERVICE:
            doubt = line.most(*_DOUBTS.get(state, ()))
            if line.shows(*STATE_ACTS[state]) and line.most(*STATE_ACTS[state]) >= doubt:
                self._enter(entry, state, line)
        if line.shows(Act.TRANSFER) or is_another or line.taken_over:
            self._hand_over(line)

    def _enter(self, entry: Entry, state: State, line: Spoken) -> None:
        if state is State.DONE and _is_left(entry, line):
            # Who books a repair has mended nothing, and neither has who passes it on.
            state = State.TRANSFERRED if line.passed_on else State.PROMISED
        # A "no" to a question for a fact answers it.
        refuses = state is State.REFUSED
        if refuses and self._asked_fact and not line.shows(Act.REFUSE_REASON):
            if entry.kind is RequestKind.QUESTION:
                entry.move(State.ANSWERED, line.position)
        elif _applies(entry, state, line):
            entry.move(state, line.position)

    def _hand_over(self, line: Spoken) -> None:
        # Somebody else who introduces themself has taken over, whether or not that was announced.
        for entry in self.entries:
            if _applies(entry, State.TRANSFERRED, line) and not entry.closed:
                entry.move(State.TRANSFERRED, line.position)

    def _ask(self, line: Spoken) -> None:
        kind = _kind_of(line)
        if line.shows(Act.REPEAT) and self.entries:
            self._repeat(line)
        elif kind is not None and (same := self._same(line, kind)) is not None:
            same.content |= line.content
            if same.state in _SERVED:
                same.move(State.OPEN, line.position)
        elif kind is not None:
            self.entries.append(Entry(kind, line.position, line.content))
        elif line.shows(Act.ASK) and all(entry.closed for entry in self.entries):
            self.entries.append(Entry(RequestKind.QUESTION, line.position, line.content))
        elif line.shows(Act.COMPLAIN) and not self.entries:
            self.entries.append(Entry(RequestKind.ACTION, line.position, line.content))

    def _same(self, line: Spoken, kind: RequestKind) -> Entry | None:
        """Return the request that a further one belongs to: it repeats, changes or details that."""
        special = (RequestKind.PERSON, RequestKind.OPT_OUT)
        if not self.entries or kind in special:
            return next((entry for entry in self.entries if entry.kind is kind), None)
        last = self.entries[-1]
        takes_up = last.state is State.PROPOSED and line.shows(Act.YES)
        if takes_up or not (last.closed or last.kind in special or line.adds_matter):
            return last
        for entry in reversed(self.entries):
            least = min(len(entry.content), len(line.content))
            if least and len(entry.content & line.content) >= max(2, _SAME_SUBJECT * least):
                return None if entry.closed and not line.shows(Act.REPEAT) else entry
        return None

    def _turns(self, line: Spoken) -> bool:
        """Enter on its own what was asked for together with something that got its answer."""
        for entry in reversed(self.entries):
            if entry.content & line.turns_to and entry.state in _SERVED:
                entry.content -= line.turns_to
                self.entries.append(Entry(entry.kind, line.position, line.turns_to))
                return True
        return False

    def _repeat(self, line: Spoken) -> None:
        entry = self._about(line)
        if entry.state in _SERVED:
            entry.repeated_at.append(line.position)
            entry.move(State.OPEN, line.position)

    def _close(self, line: Spoken) -> None:
        is_plain = line.acts[Act.SOLVED] >= _PLAINLY
        for entry in self.entries:
            replied = entry.state is State.ASKED_BACK and entry.moved_at < self._served[-1]
            begun = entry.state in (*_BEGUN, *_REFUSALS) and not replied
            if entry.state is not State.GIVEN_UP and (is_plain or not begun):
                entry.move(State.CONFIRMED, line.position)

    def _move(self, line: Spoken, state: State) -> None:
        if self.entries:
            self._about(line).move(state, line.position)

    def _state(self) -> State | None:
        return self.entries[-1].state if self.entries else None

    def _addressed(self, line: Spoken) -> Entry | None:
        """Return the request that a service line is about: an open one, by its words or the latest."""
        if not self.entries:
            return None
        matters = [entry for entry in self.entries if entry.kind is not RequestKind.PERSON]
        entries = self.entries if line.shows(Act.TRANSFER) or not matters else matters
        unsettled = [entry for entry in entries if entry.state is not State.CONFIRMED]
        return self._nearest(line, unsettled or entries)

    def _about(self, line: Spoken) -> Entry:
        return self._nearest(line, self.entries)

    @staticmethod
    def _nearest(line: Spoken, entries: Sequence[Entry]) -> Entry:
        shared = [len(entry.content & line.content) for entry in entries]
        best = max(shared)
        # Of those that share as many words with the line, the one that was asked for last.
        return next(
            e for e, s in zip(reversed(entries), reversed(shared), strict=True) if s == best
        )


def _kind_of(line: Spoken) -> RequestKind | None:
    if line.shows(Act.OPT_OUT):
        return RequestKind.OPT_OUT
    if line.shows(Act.ASK_PERSON):
        return RequestKind.PERSON
    if line.shows(Act.REQUEST):
        return RequestKind.QUESTION if line.asks_fact else RequestKind.ACTION
    return None


def _is_left(entry: Entry, line: Spoken) -> bool:
    """Tell whether what was done only brings somebody else, whom the customer did not ask for."""
    return bool(line.later) and line.later not in entry.content and _BOOKS.isdisjoint(entry.content)


def _applies(entry: Entry, state: State, line: Spoken) -> bool:
    if state is State.DONE and entry.state is State.CONFIRMED:
        return False
    if state is State.ANSWERED:
        return entry.kind is RequestKind.QUESTION and entry.state not in _REFUSALS
    if state in (State.EXPLAINED, State.INSTRUCTED):
        # What explains a refusal or a promise changes nothing.
        is_told = entry.state in (*_REFUSALS, State.PROMISED, State.TRANSFERRED)
        return entry.kind is not RequestKind.QUESTION and not is_told
    if state in (State.FAILED, State.REFUSED) and not _is_likelier(line, state):
        return False
    if state in _REFUSALS and entry.state in _KEPT:
        # What fails later was not done after all, or something else was not.
        later = entry.moved_at < line.position
        return line.shows(Act.RETRACT, Act.UNDONE) or (state is State.FAILED and later)
    if state is State.TAKEN_BACK:
        return line.takes_back or line.most(Act.RETRACT) >= _PLAINLY
    if state is State.TRANSFERRED:
        # What was done before, and what is done after, is done all the same.
        is_done = entry.state in _KEPT and entry.moved_at != line.position
        return entry.kind is RequestKind.PERSON or not is_done
    return True


def _is_likelier(line: Spoken, state: State) -> bool:
    """Tell which of a failure and a refusal a line rather shows: it takes only that step."""
    failed, refused = (line.most(*STATE_ACTS[each]) for each in (State.FAILED, State.REFUSED))
    return (refused > failed) is (state is State.REFUSED)


def _accepts(line: Spoken) -> bool:
    """Tell whether a line that sounds like giving up rather takes what was proposed."""
    return line.most(Act.YES, Act.OK) > line.most(*STATE_ACTS[State.GIVEN_UP])
