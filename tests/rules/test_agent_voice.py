"""Agent's voice: named by the words of both voices, and only where they are sure and English."""

from dataclasses import replace

import pytest

from app.judge.acts.agent_voice import with_named_agent
from app.transcript import Participant, Role, Transcript
from tests.talks import call

LINES = (
    ("u", "Good morning, Harbour Energy, my name is Ben. How can I help you?"),
    ("c", "Hello, my bill is wrong, I was charged twice."),
    ("u", "I am sorry. Could you give me your customer number, please?"),
    ("c", "It is four one one."),
    ("u", "Thank you, I have sent the second payment back to your account."),
    ("c", "Great, thanks."),
)
GERMAN = (
    ("u", "Guten Morgen, Hafen Energie, mein Name ist Ben. Wie kann ich Ihnen helfen?"),
    ("c", "Hallo, meine Rechnung stimmt nicht, ich habe zweimal bezahlt."),
    ("u", "Das tut mir leid. Wie lautet bitte Ihre Kundennummer?"),
    ("c", "Sie ist vier eins eins, und ich will mein Geld zurück."),
)


def nameless(
    lines: tuple[tuple[str, str], ...], roles: tuple[Role, Role], language: str
) -> Transcript:
    spoken = call(
        *((voice, 2_000 * at, 2_000 * at + 1_500, text) for at, (voice, text) in enumerate(lines)),
        language=language,
    )
    by_id = dict(zip(("u", "c"), roles, strict=True))
    return replace(
        spoken,
        segments=tuple(
            replace(segment, role=by_id[segment.participant_id]) for segment in spoken.segments
        ),
        participants=tuple(Participant(voice, role) for voice, role in by_id.items()),
    )


@pytest.mark.parametrize(
    "roles", [(Role.UNKNOWN, Role.UNKNOWN), (Role.CUSTOMER, Role.AGENT)], ids=["none", "swapped"]
)
def test_who_talks_like_an_agent_is_the_agent(roles: tuple[Role, Role]) -> None:
    named = with_named_agent(nameless(LINES, roles, "en"))
    assert {person.id: person.role for person in named.participants} == {
        "u": Role.AGENT,
        "c": Role.CUSTOMER,
    }
    assert [segment.role for segment in named.segments] == [Role.AGENT, Role.CUSTOMER] * 3


@pytest.mark.parametrize(
    ("lines", "language"), [(GERMAN, "de"), (LINES[1::2], "en"), (LINES[:0], "en")]
)
def test_what_is_not_english_or_one_voice_alone_stays_as_it_is(
    lines: tuple[tuple[str, str], ...], language: str
) -> None:
    spoken = nameless(lines, (Role.UNKNOWN, Role.UNKNOWN), language)
    assert with_named_agent(spoken) == spoken
