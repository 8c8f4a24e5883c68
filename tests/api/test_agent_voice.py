"""Agent's voice: named by the words where they are sure, else by a person, who is asked on a page."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.audio_files import jobs
from app.core.runtime import Runtime
from app.privacy.jobs import run_erasure
from tests.caller import Caller
from tests.contacts import judge, put_call
from tests.own_scorecards import create
from tests.recordings import SPEECH, show, upload, work
from tests.statements import statements_of
from tests.transcription_server import TranscriptionServer, document_answer
from tests.visitor import signed_in

CLEAR = (
    (
        "A",
        "Good morning, thank you for calling Harbour Energy, my name is Ben, how can I help you?",
    ),
    ("B", "Hi, my bill is wrong. I was charged twice in May and I want my money back."),
    ("A", "I am sorry about that. Could you give me your customer number, please?"),
    ("B", "It is on my letter, four one one."),
    ("A", "Thank you. I see it, and I have sent the second payment back to your account."),
    ("B", "Great, thanks."),
    ("A", "Is there anything else I can do for you?"),
)
VAGUE = (("A", "Right."), ("B", "So that is it then."), ("A", "Right."), ("B", "Fine."))


@pytest.fixture
def server() -> Iterator[TranscriptionServer]:
    """A server that tells two voices apart."""
    server = TranscriptionServer()
    yield server
    server.close()


@pytest.fixture
def base(serve: Callable[..., str], server: TranscriptionServer) -> str:
    return serve(**server.settings())


def say(server: TranscriptionServer, lines: tuple[tuple[str, str], ...]) -> None:
    segments = [
        {"speaker": voice, "text": text, "start": 2 * at, "end": 2 * at + 1.5}
        for at, (voice, text) in enumerate(lines)
    ]
    text = " ".join(text for _, text in lines)
    server.answer_with(document_answer({"text": text, "segments": segments}))


def evaluation_of(client: Caller, recording: dict[str, Any]) -> dict[str, Any]:
    evaluation = client.get(f"/evaluations/{recording['evaluationId']}").json()["data"]
    return dict(evaluation)


def roles_of(client: Caller, recording: str) -> list[str]:
    transcript = client.get(f"/audio-files/{recording}/transcript").json()["data"]
    return [segment["role"] for segment in transcript["segments"]]


def agent_of_call(client: Caller, call_id: str) -> str | None:
    """The voice that the current evaluation of a call takes for the agent's."""
    evaluation_id = client.get(f"/voice-calls/{call_id}").json()["data"]["evaluationId"]
    document = client.get(f"/evaluations/{evaluation_id}/transcript").json()["data"]
    roles = {person["role"]: person["id"] for person in document["participants"]}
    return roles.get("agent")


@pytest.mark.parametrize("first", ["agent", "customer"])
def test_the_agent_is_named_by_what_both_voices_say(
    client: Caller, server: TranscriptionServer, first: str
) -> None:
    lines = CLEAR if first == "agent" else CLEAR[1:]
    say(server, lines)
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    evaluation = evaluation_of(client, work(client, recording, language="en"))
    expected = {"A": "agent", "B": "customer"}
    assert roles_of(client, recording) == [expected[voice] for voice, _ in lines]
    assert evaluation["agentUnnamed"] is False
    assert client.get("/evaluations?agentUnnamed=true").json()["data"] == []


def test_a_person_names_the_agent_where_the_words_leave_a_doubt(
    base: str, client: Caller, runtime: Runtime, server: TranscriptionServer
) -> None:
    say(server, VAGUE)
    scorecard = create(client, channel="voice")["id"]
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    done = work(client, recording, language="en", scorecardId=scorecard, redact=False)
    evaluation = evaluation_of(client, done)
    assert set(roles_of(client, recording)) == {"unknown"}
    assert evaluation["agentUnnamed"] is True
    (waiting,) = client.get("/evaluations?agentUnnamed=true").json()["data"]
    assert waiting["id"] == evaluation["id"]
    assert client.get("/evaluations?agentUnnamed=false").json()["data"] == []

    call_id = put_call(client, turns=[], channel="voice", recording={"audioFileId": recording})[
        "id"
    ]
    judge()
    assert agent_of_call(client, call_id) is None

    visitor = signed_in(base, runtime, "reviewer")
    page = visitor.get("/review?tab=voices").text
    assert page.count("This voice is the agent") == 2
    assert "So that is it then. Fine." in page
    form = re.search(rf'action="(/evaluations/{evaluation["id"]}/sides)"', page)
    assert form is not None
    asked = len(server.requests)
    answer = visitor.post(form[1], {"agent": "1", "from": "queue"})
    assert answer.headers["Location"].startswith("/review?tab=voices")
    assert visitor.post(form[1], {"agent": "0"}).status_code == 409
    jobs.process_audio(runtime, jobs.due_ids(runtime)[0])
    again = evaluation_of(client, show(client, recording))
    assert roles_of(client, recording) == ["customer", "agent", "customer", "agent"]
    assert len(server.requests) == asked, "the sound was transcribed again"
    assert (again["agentUnnamed"], again["scorecardId"], again["redacted"]) == (
        False,
        scorecard,
        False,
    )
    assert "The agent is known" in visitor.get("/review?tab=voices").text
    judge()
    assert agent_of_call(client, call_id) == "voice_1", "the call is judged with the other names"
    assert client.get("/evaluations?agentUnnamed=true").json()["data"] == []
    # What a person has said counts, whatever the words are.
    assert show(client, recording)["channelMap"] == {"agent": 1, "customer": 0}


def test_the_voices_of_all_rows_are_read_at_once(
    base: str, client: Caller, runtime: Runtime, server: TranscriptionServer
) -> None:
    say(server, VAGUE)
    for _ in range(2):
        work(client, upload(client, SPEECH.read_bytes(), contentType="audio/mpeg"), language="en")
    visitor = signed_in(base, runtime, "reviewer")
    with statements_of(runtime) as sent:
        page = visitor.get("/review?tab=voices").text
    assert page.count("So that is it then. Fine.") == 2
    assert len([statement for statement in sent if "transcripts.segments" in statement]) == 1


@pytest.mark.parametrize(("voices", "speakers"), [(3, 3), (21, 1)])
def test_nobody_is_asked_to_name_one_of_many_voices(
    client: Caller, server: TranscriptionServer, voices: int, speakers: int
) -> None:
    say(server, tuple((f"voice {at}", "So that is it then.") for at in range(voices)))
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    evaluation = evaluation_of(client, work(client, recording, language="en"))
    transcript = client.get(f"/audio-files/{recording}/transcript").json()["data"]
    assert len(transcript["participants"]) == speakers
    assert evaluation["agentUnnamed"] is False


def test_what_was_erased_waits_for_no_answer(
    client: Caller, runtime: Runtime, server: TranscriptionServer
) -> None:
    say(server, VAGUE)
    labels = {"customerRef": "C-1234567"}
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg", labels=labels)
    assert evaluation_of(client, work(client, recording, language="en"))["agentUnnamed"] is True
    erasure = client.post("/privacy/erase", {"customerRef": "C-1234567"}).json()["data"]
    run_erasure(runtime, erasure["erasureId"])
    assert client.get("/evaluations?agentUnnamed=true").json()["data"] == []
