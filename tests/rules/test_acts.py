"""Labels of acts and the ledger: the handbook, the data, and the rules by which requests end."""

import re
from pathlib import Path

import pytest

from app.judge.acts.catalogue import CUSTOMER_ACTS, SERVICE_ACTS, Act
from app.judge.acts.features import Heard, contexts_of
from app.judge.ledger.entries import State, ledger_of
from app.judge.ledger.spoken import Spoken, spoken_line
from app.judge.ledger.status import stated_status
from training.acts.labelled import READ_TWICE, STATUSES, acts_of_side, talks_in

HANDBOOK = Path("training/handbook.md").read_text()
_RATINGS = ("satisfaction", "effectiveness", "manner")


def talk(*lines):
    """Make lines of "c act act" or "s act act", with the words of their subject in brackets."""
    spoken = []
    for position, line in enumerate(lines):
        side, *acts = re.sub(r"\(.*\)", "", line).split()
        content = re.search(r"\((.*)\)", line)
        spoken.append(
            Spoken(
                position,
                side == "c",
                {Act(act): 0.9 for act in acts if act not in ("fact", "further")},
                frozenset(content[1].split()) if content else frozenset(),
                asks_fact="fact" in acts,
                adds_matter="further" in acts,
            )
        )
    return ledger_of(spoken)


def test_the_handbook_defines_every_act_of_each_side():
    service, customer = HANDBOOK.split("## Outcome of a")[0].split("## Acts of the customer")
    for text, acts in ((service, SERVICE_ACTS), (customer, CUSTOMER_ACTS)):
        assert set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE)) == set(acts)


@pytest.fixture(scope="module")
def talks():
    return talks_in()


def test_labels_are_those_of_the_handbook(talks):
    assert len({talk.id for talk in talks}) == len(talks) > 1_800
    assert sum(len(talk.lines) for talk in talks) > 27_000
    for talk in talks:
        assert talk.outcome["status"] in STATUSES
        assert all(1 <= talk.outcome[name] <= 5 for name in _RATINGS)
        for line, acts in zip(talk.lines, talk.acts, strict=True):
            assert acts <= set(acts_of_side(customer=line.by_customer))
            assert line.text.strip()


def test_lines_read_twice_are_those_read_first(talks):
    first = {talk.id: talk for talk in talks}
    again = talks_in(READ_TWICE)
    assert again
    for talk in again:
        sides = [line.by_customer for line in first[talk.id].lines]
        assert [line.by_customer for line in talk.lines] == sides


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["c request", "s done"], "resolved"),
        (["c request", "s done", "c unsolved"], "unresolved"),
        (["c request", "s done", "c unsolved", "s done"], "resolved"),
        (["c request", "s done", "s retract"], "unresolved"),
        (["c request", "s cannot", "c solved"], "resolved"),
        (["c request", "s refuse_reason", "c thank close"], "unresolved"),
        (["c request", "s refuse_reason", "s inform"], "unresolved"),
        (["c request", "s elsewhere", "c ok"], "unresolved"),
        (["c request", "c give_up"], "unresolved"),
        (["c request", "s ask_secret", "c leave"], "unresolved"),
        (["c request", "s instruct", "c partly"], "partially_resolved"),
        (
            ["c request (router)", "s done", "c request further (bill)", "s refuse"],
            "partially_resolved",
        ),
        (["c request", "s transfer", "s greet name ask"], "escalated"),
        (["c request", "s transfer", "s done", "c thank"], "resolved"),
        (["c ask_person", "s transfer"], "escalated"),
        (["c request", "s promise_by", "c thank close"], "unresolved"),
        (["c request", "s hypothetical", "c thank"], None),
        (["c request", "s propose", "c yes"], None),
        (["c request", "s stall", "c thank close"], "unresolved"),
        (["c request", "s doing"], None),
        (["c request", "s done doing"], "resolved"),
        (["c request", "s name", "s ask", "s name doing"], "escalated"),
        (["c request", "c request further", "s done", "c solved"], "resolved"),
        (["c request (tap)", "s done", "c solved", "c request further (roof)"], None),
        (["c request", "s done", "s propose", "c decline"], "resolved"),
        (["c request fact", "s refuse_reason", "c ok"], "unresolved"),
        (["s greet", "c greet"], None),
    ],
)
def test_the_ledger_states_what_lines_state(lines, status):
    assert stated_status(talk(*lines)) == status


def test_thanks_close_nothing():
    (entry,) = talk("c request", "s promise", "c thank praise close").entries
    assert (entry.state, entry.closed) == (State.PROMISED, False)


def test_a_promise_after_the_act_takes_nothing_back():
    (entry,) = talk("c request", "s done", "s promise_by inform").entries
    assert entry.state is State.DONE


def test_a_fact_answers_a_question_but_carries_out_no_request():
    (question,) = talk("c request fact", "s inform").entries
    (request,) = talk("c request", "s inform").entries
    assert (question.state, request.state) == (State.ANSWERED, State.EXPLAINED)


def test_asking_again_opens_a_request_again():
    (entry,) = talk("c request (refund)", "s done", "c repeat (refund)").entries
    assert (entry.state, entry.repeated_at) == (State.OPEN, [2])


def test_a_changed_wish_belongs_to_the_request_and_a_further_matter_does_not():
    assert len(talk("c request (table)", "s cannot", "c request (noon)").entries) == 1
    assert len(talk("c request (table)", "s cannot", "c request further (taxi)").entries) == 2


def test_an_unanswered_question_stays_open():
    assert talk("c request", "s done", "c ask", "s courtesy").open_question == 2
    assert talk("c request", "s done", "c ask", "s inform").open_question is None


def test_short_answers_are_read_with_the_question_before_them():
    def answer(question):
        _, contexts = contexts_of([Heard(False, question), Heard(True, "No.")])
        return set(contexts[0])

    working, more = answer("Is it working now?"), answer("Anything else?")
    assert "no|p:working" in working - more
    assert "no|p:else" in more - working


def read(*lines):
    """Follow lines of side, act and text."""
    return ledger_of(
        spoken_line(place, text, by_customer=side == "c", acts=acts)
        for place, (side, acts, text) in enumerate(lines)
    )


def test_a_part_of_a_request_that_is_asked_for_again_takes_its_own_course():
    ledger = read(
        ("c", {Act.REQUEST: 0.9}, "My parcel is late, and the remote is dead."),
        ("a", {Act.DONE: 0.9}, "Your parcel is at your door now."),
        ("c", {Act.REPEAT: 0.9}, "Good. And the remote?"),
        ("a", {Act.REFUSE: 0.9}, "Nothing I could do there."),
    )
    assert [entry.state for entry in ledger.entries] == [State.DONE, State.REFUSED]
    assert stated_status(ledger) == "partially_resolved"


@pytest.mark.parametrize(
    ("said", "act", "state"),
    [
        ("Mira from support has taken it over.", Act.INFORM, State.TRANSFERRED),
        ("Then I leave you in her hands.", Act.COURTESY, State.TRANSFERRED),
        ("Who takes over the flat?", Act.ASK, State.ASKED_BACK),
        ("I have you here, Jasper.", Act.NAME, State.OPEN),
        ("Jasper here.", Act.NAME, State.TRANSFERRED),
    ],
)
def test_a_hand_over_needs_somebody_who_takes_it(said, act, state):
    ledger = read(
        ("a", {Act.NAME: 0.9}, "This is Ann."),
        ("c", {Act.REQUEST: 0.9}, "My line is dead."),
        ("a", {act: 0.9}, said),
    )
    assert ledger.entries[0].state is state


@pytest.mark.parametrize(
    ("said", "likely", "state"),
    [
        ("Keep the pen. Friday 17:00 stands.", 0.68, State.DONE),
        ("Oh, the change did not go through.", 0.68, State.TAKEN_BACK),
        ("I have put it back to Friday.", 0.9, State.TAKEN_BACK),
    ],
)
def test_what_is_taken_back_is_denied_or_read_plainly(said, likely, state):
    ledger = read(
        ("c", {Act.REQUEST: 0.9}, "Please move it to Monday."),
        ("a", {Act.DONE: 0.9}, "Done, it is on Monday."),
        ("a", {Act.RETRACT: likely}, said),
    )
    assert ledger.entries[0].state is state


def test_a_goodbye_puts_nothing_off():
    ledger = read(
        ("c", {Act.REQUEST: 0.9}, "Please move it to Monday."),
        ("a", {Act.PROMISE: 0.9}, "I will move it."),
        ("a", {Act.CLOSE: 0.9, Act.STALL: 0.6}, "Thank you for contacting us."),
    )
    assert ledger.entries[0].state is State.PROMISED


@pytest.mark.parametrize("answers", [True, False])
def test_a_faint_confirmation_is_of_what_was_said_after_a_question(answers):
    lines = [
        ("c", {Act.REQUEST: 0.9}, "Please send my parcel."),
        ("a", {Act.ASK: 0.9}, "Which number has it?"),
        ("c", {}, "48213."),
    ]
    reply = [("a", {Act.COURTESY: 0.6}, "It goes out again.")] if answers else []
    ledger = read(*lines, *reply, ("c", {Act.SOLVED: 0.55}, "That solves it."))
    assert (ledger.entries[0].state is State.CONFIRMED) is answers


@pytest.mark.parametrize(
    ("done", "doing", "state"), [(0.8, 0.6, State.DONE), (0.6, 0.8, State.IN_WORK)]
)
def test_what_is_still_being_done_is_not_done(done, doing, state):
    acts = {Act.DONE: done, Act.DOING: doing}
    asked = ("c", {Act.REQUEST: 0.9}, "My line is dead.")
    assert read(asked, ("a", acts, "I am looking into it.")).entries[0].state is state


@pytest.mark.parametrize(
    ("asked", "said", "state"),
    [
        ("My heating is cold.", "I have booked an engineer for Friday.", State.PROMISED),
        ("My heating is cold.", "An engineer has been booked for Friday.", State.PROMISED),
        ("My heating is cold.", "I have passed it to our repair team.", State.TRANSFERRED),
        ("My heating is cold.", "The engineer has mended the pump.", State.DONE),
        ("Can you send an engineer?", "I have booked an engineer for Friday.", State.DONE),
        ("I want to book a boiler service.", "I have booked an engineer for May.", State.DONE),
        ("Pass it to a manager, please.", "I have passed it to my manager.", State.DONE),
    ],
)
def test_who_books_a_repair_or_passes_it_on_has_mended_nothing(asked, said, state):
    ledger = read(("c", {Act.REQUEST: 0.9}, asked), ("a", {Act.DONE: 0.9}, said))
    assert ledger.entries[0].state is state
