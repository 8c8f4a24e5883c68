"""Demo: loaded once, evaluated by the real engines, and next to a running service."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.audio_files import jobs as audio_files
from app.core.runtime import Runtime
from app.demo import people, sample_data, service
from app.evaluations import jobs as evaluations
from app.imports.formats.records import Kind
from app.people import service as accounts
from tests.caller import Caller
from tests.conftest import SharedService
from tests.recordings import progress, reserve, show
from tests.visitor import Visitor, add_user
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess, run_to_end

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]


@dataclass
class Demo:
    """A service with the demo; what loading it said, and how far judging was then."""

    report: service.LoadReport
    progress: service.DemoProgress
    runtime: Runtime
    client: Caller


@pytest.fixture(scope="module")
def loaded(module_service: SharedService) -> Demo:
    runtime = module_service.runtime
    report = service.load(runtime, small=True)
    with runtime.db.reading() as session:
        return Demo(report, service.progress(session), runtime, module_service.client)


@pytest.fixture(scope="module")
def judged(loaded: Demo) -> Caller:
    """A caller of a service whose chats and calls of the demo are judged."""
    evaluations.judge(loaded.runtime)
    return loaded.client


def rows(client: Caller, path: str, **params: Any) -> list[dict[str, Any]]:
    answer = client.get(path, params={"pageSize": 100, **params})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def everything(client: Caller) -> dict[str, list[dict[str, Any]]]:
    paths = ("/engagements", "/campaigns", "/conversations", "/voice-calls", "/audio-files")
    return {path: rows(client, path) for path in (*paths, "/evaluations")}


def test_all_records_are_loaded(loaded: Demo) -> None:
    assert loaded.report.refused == []
    assert loaded.report.total == len(sample_data.external_ids())
    assert all(each.startswith("demo-") for each in sample_data.external_ids())
    found = everything(loaded.client)
    assert len(found["/engagements"]) == 2
    assert len(found["/conversations"]) == len(sample_data.records(Kind.CONVERSATION))
    assert len(found["/audio-files"]) == len(sample_data.records(sample_data.RECORDINGS))
    assert loaded.progress.total == len(found["/evaluations"])
    assert loaded.progress.ended == 0


def test_loading_twice_changes_nothing(loaded: Demo) -> None:
    before = everything(loaded.client)
    again = service.load(loaded.runtime, small=True)
    assert again.total == 0
    assert again.refused == []
    assert everything(loaded.client) == before


def test_evaluations_have_the_dates_of_their_contacts(judged: Caller) -> None:
    listed = rows(judged, "/evaluations")
    assert all(row["conversationAt"] == row["startedAt"] for row in listed)
    assert len({row["createdAt"][:10] for row in listed}) <= 2
    [series] = judged.get("/analytics/trends", params={"metric": "score"}).json()["data"]["series"]
    days = [point for point in series["points"] if point["count"]]
    completed = [row for row in listed if row["status"] == "completed"]
    assert len(days) == len({row["startedAt"][:10] for row in completed}) > 15
    assert sum(point["count"] for point in days) == sum(row["hasVerdict"] for row in completed)


def test_chats_and_calls_get_the_expected_scores(judged: Caller) -> None:
    found = {
        each["externalId"]: each
        for each in rows(judged, "/evaluations")
        if each["sourceType"] != "audio_file"
    }
    assert {each["status"] for each in found.values()} == {"completed"}
    assert found["demo-chat-parcel-late"]["score"] >= 85
    assert found["demo-chat-rude-agent"]["score"] < 50
    assert "compliance.data_handling" in found["demo-chat-asks-card"]["failedCriteria"]
    ignored = found["demo-call-opt-out-ignored"]
    assert "safety.opt_out" in ignored["failedCriteria"]
    assert not ignored["passed"]
    assert found["demo-call-thursday-fine"]["passed"]


def coaching(client: Caller, external_id: str) -> dict[str, list[dict[str, Any]]]:
    """Return the coaching of the evaluation of one chat."""
    evaluation = next(
        row for row in rows(client, "/evaluations") if row["externalId"] == external_id
    )
    results = client.get(f"/evaluations/{evaluation['id']}/results").json()["data"]
    found: dict[str, list[dict[str, Any]]] = results["coaching"]
    return found


def test_a_rude_agent_is_criticised_and_an_excellent_one_praised(
    judged: Caller,
) -> None:
    rude = coaching(judged, "demo-chat-rude-agent")
    assert rude["strengths"] == []
    assert rude["improvements"][0]["text"].startswith("The agent mocked or belittled the customer")
    assert "Did you even look properly?" in rude["improvements"][0]["text"]
    excellent = coaching(judged, "demo-chat-charged-twice")
    praised = {entry["criterionKey"]: entry["text"] for entry in excellent["strengths"]}
    assert "I see two payments of 64.90" in praised["discovery.understanding"]
    assert "rude" not in str(excellent["improvements"])


def test_the_address_of_a_customer_is_masked(judged: Caller) -> None:
    chats = {chat["externalId"]: chat["id"] for chat in rows(judged, "/conversations")}
    path = f"/conversations/{chats['demo-chat-address-change']}/messages"
    said = [message["text"] for message in rows(judged, path)]
    assert "[ADDRESS]" in said
    assert not any("Mill Lane" in text for text in said)
    assert any("Rohan" in text for text in said)


def test_every_report_has_data(judged: Caller) -> None:
    summary = judged.get("/analytics/summary").json()["data"]
    assert summary["totals"]["completed"] > 30
    for board in ("campaigns", "call-centers", "executives"):
        assert rows(judged, f"/analytics/{board}", minEvaluations=1)
    kinds = {each["kind"] for each in rows(judged, "/analytics/executives")}
    assert kinds == {"human", "bot"}
    call = next(each for each in rows(judged, "/voice-calls") if each["hasRecording"])
    assert judged.get(f"/voice-calls/{call['id']}/recording-url").status_code == 200
    epa = judged.get(f"/voice-calls/{call['id']}/epa-results").json()["data"]
    assert epa["status"] == "completed"


def test_the_people_of_the_demo_have_worked(judged: Caller, loaded: Demo) -> None:
    runtime = loaded.runtime
    assert service.play_week(runtime)
    found = people.file_of(runtime)
    assert found.stat().st_mode & 0o077 == 0
    password = found.read_text().split()[-1]
    names = re.findall(r"^(\S+) +(lead|reviewer|agent)$", found.read_text(), re.MULTILINE)
    assert Counter(role for _, role in names) == {"lead": 2, "reviewer": 2, "agent": 6}
    readme = (ROOT / "README.md").read_text()
    _, _, told = readme.partition("| To see | Sign in as |")
    shown = {*re.findall(r"`([a-z.]+)`", told.partition("\n\n")[0])}
    assert shown - {"admin"} < {name for name, _ in names}
    assert len(shown) > 5
    states = Counter(row["state"] for row in rows(judged, "/reviews/assignments"))
    assert states["open"] > states["in_review"]
    assert states["done"] >= 1
    reviewed = rows(judged, "/evaluations", reviewStatus="reviewed")
    assert len(reviewed) == states["done"]
    assert len(rows(judged, "/evaluations", reviewStatus="dispute_accepted")) == 1
    upheld = judged.get("/analytics/disputes").json()["data"]["upheld"]
    assert (upheld["hits"], upheld["count"]) == (1, 1)
    sessions = {row["state"]: row for row in rows(judged, "/coaching-sessions")}
    assert {"held", "planned"} <= sessions.keys()
    assert rows(judged, "/goals")
    before = everything(judged), rows(judged, "/coaching-sessions")
    assert service.play_week(runtime)
    assert (everything(judged), rows(judged, "/coaching-sessions")) == before
    # The agent who has disputed sees it, and nothing of others.
    rohan = Visitor(judged.base)
    assert rohan.sign_in("rohan.desai", password).status_code == 303
    page = rohan.get("/my/results").text
    assert "Dispute accepted" in page
    assert "Anna Whitlock" not in page
    for name, state in (("marcus.bell", "Held"), ("tom.hale", "Planned")):
        agent = Visitor(judged.base)
        assert agent.sign_in(name, password).status_code == 303
        assert state in agent.get("/my/coaching").text
    # Accounts that an admin has disabled are not made again.
    add_user(runtime, "admin")
    with runtime.db.writing() as session:
        helen = people.find(session, "Helen Brook")
        assert helen is not None
        accounts.disable(session, helen)
    assert service.load(runtime, small=True).total == 0


def test_a_recording_is_transcribed_and_evaluated(loaded: Demo) -> None:
    pytest.importorskip("faster_whisper", reason="the speech engine is not installed")
    runtime, client = loaded.runtime, loaded.client
    assert len(audio_files.due_ids(runtime)) == 4
    known = {each["externalId"]: each["id"] for each in rows(client, "/audio-files")}
    talked_over = known["demo-recording-talked-over"]
    audio_files.process_audio(runtime, progress(client, talked_over)["jobId"])
    heard = show(client, talked_over)
    assert heard["status"] == "processed"
    assert heard["score"] < 50
    results = client.get(f"/evaluations/{heard['evaluationId']}/results").json()["data"]
    assert "interruption" in {each["type"] for each in results["moments"]}
    transcript = client.get(f"/audio-files/{heard['id']}/transcript").json()["data"]
    said = " ".join(each["text"] for each in transcript["segments"])
    assert "Riverside" in said
    assert {each["role"] for each in transcript["segments"]} == {"agent", "customer"}


@pytest.mark.nightly("transcribes a second recording")
def test_a_recording_on_one_channel_gets_no_verdict(loaded: Demo) -> None:
    pytest.importorskip("faster_whisper", reason="the speech engine is not installed")
    runtime, client = loaded.runtime, loaded.client
    known = {row["externalId"]: row["id"] for row in rows(client, "/audio-files")}
    mono = known["demo-recording-mono"]
    audio_files.process_audio(runtime, progress(client, mono)["jobId"])
    heard = show(client, mono)
    assert heard["status"] == "processed"
    evaluation = client.get(f"/evaluations/{heard['evaluationId']}").json()["data"]
    assert evaluation["hasVerdict"] is False
    assert (evaluation["passed"], evaluation["band"]) == (None, None)
    assert evaluation["judgedWeightPercent"] < 50
    results = client.get(f"/evaluations/{evaluation['id']}/results").json()["data"]
    assert results["noVerdictReason"].startswith("No verdict: only")
    assert results["coaching"]["strengths"] == []


def test_an_interrupted_load_is_completed(runtime: Runtime, client: Caller) -> None:
    # As a crash between the row and its bytes leaves it.
    reserve(client, externalId="demo-recording-solved", contentType="audio/ogg", autoProcess=True)
    report = service.load(runtime)
    assert report.new["recordings"] == len(sample_data.records(sample_data.RECORDINGS))
    assert report.new["chats"] + report.new["voice bot calls"] > 290
    assert report.refused == []
    assert service.load(runtime).total == 0
    found = {each["externalId"]: each["status"] for each in rows(client, "/audio-files")}
    assert found["demo-recording-solved"] == "queued"


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., ServiceProcess]]:
    started: list[ServiceProcess] = []

    def start(*options: str) -> ServiceProcess:
        folder = tmp_path / "instance"
        started.append(ServiceProcess(folder, "up", *options, CQE_REDIS_URL="none"))
        return started[-1].wait_ready()

    yield start
    for each in started:
        each.end()


def test_up_loads_the_demo_and_says_that_no_worker_is_running(
    up: Callable[..., ServiceProcess], tmp_path: Path
) -> None:
    running = up("--demo", "--no-worker")
    wait_until(lambda: "Look at" in running.text)
    assert re.search(r"The demo is loaded: .*262 chats", running.text)
    assert "No worker is running" in running.text
    wait_until(lambda: "cqe: demo" not in running.children().values())
    code, text = run_to_end(tmp_path / "instance", "demo", CQE_REDIS_URL="none")
    assert code == 0, text
    assert "nothing was changed" in text
    assert "No worker is running" in text
    assert running.stop() == 0
