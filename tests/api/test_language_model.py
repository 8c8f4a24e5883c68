"""Evaluations that a language model has judged, over the API; the model is a server of the tests."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from app.audio_files.jobs import process_audio
from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.evaluations import transcripts
from app.evaluations.judging import model_answers
from app.evaluations.judging.model_answers import ModelAnswer
from app.system.checks import Verdict, examine
from tests import receiver as answers
from tests.caller import Caller
from tests.contacts import get, judge, messages, put_chat
from tests.model_server import ModelServer, refusal
from tests.recordings import SILENCE, ask, show, upload
from tests.running import running_runtime
from tests.talks import GOOD_CALL
from tests.waiting import wait_until

MakeCaller = Callable[..., Caller]
Serve = Callable[..., str]
UNLIKE = (
    ("customer", "Where is my order with the number 118, please tell me now?"),
    ("agent", "I have sent it again, you will have it on Monday by noon."),
    ("customer", "Fine, thank you very much for your help, goodbye."),
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
def client(serve: Serve, server: ModelServer, make_caller: MakeCaller) -> Caller:
    return make_caller(serve(**server.settings(judge_timeout_s=90.0, judge_deadline_s=120.0)))


@pytest.fixture
def runtime(client: Caller) -> Runtime:
    return running_runtime()


def judged(client: Caller, key: str = "chat-1", **fields: Any) -> tuple[Any, Any]:
    """Put a chat in, have it judged, and return the evaluation and its results."""
    evaluation_id = put_chat(client, key, **fields)["evaluationId"]
    judge()
    data = get(client, f"/evaluations/{evaluation_id}")
    return data, get(client, f"/evaluations/{evaluation_id}/results")


def kept(runtime: Runtime) -> int:
    with runtime.db.reading() as session:
        return session.scalar(select(func.count()).select_from(ModelAnswer)) or 0


def test_an_evaluation_says_that_a_model_has_judged(
    client: Caller, server: ModelServer, runtime: Runtime
) -> None:
    evaluation, results = judged(client)
    assert evaluation["status"] == "completed"
    assert evaluation["engine"] == {
        "kind": "model",
        "provider": "openai_compatible",
        "model": "test-model",
        "promptVersion": "judge-3",
    }
    assert evaluation["reviewStatus"] == "none"
    assert results["quality"]["model"]["modelScore"] == evaluation["score"]
    by = {criterion["key"]: criterion["judgedBy"] for criterion in results["criteria"]}
    assert by["discovery.probing"] == "model"
    transcript = get(client, f"/evaluations/{evaluation['id']}/transcript")
    texts = {segment["id"]: segment["text"] for segment in transcript["segments"]}
    quotes = [quote for item in results["criteria"] for quote in item["evidence"]]
    assert quotes
    assert all(quote["quote"] in texts[quote["segmentId"]] for quote in quotes)
    assert kept(runtime) == 1

    # The same words again: nothing is asked, and the score is the same.
    again, known = judged(client, "chat-2")
    assert again["id"] != evaluation["id"]
    assert again["score"] == evaluation["score"]
    assert known["quality"]["model"]["cached"] is True
    assert (known["quality"]["modelCalls"], known["quality"]["costEstimate"]) == (0, 0.0)
    assert len(server.prompts) == 1

    with runtime.db.writing() as session:
        assert model_answers.purge(session, before=utc_now() - timedelta(days=1)) == 0
        assert model_answers.purge(session, before=utc_now() - timedelta(days=1), most=0) == 1
    assert kept(runtime) == 0


@pytest.mark.parametrize(
    ("language", "said", "because"),
    [
        (
            "de",
            (
                ("customer", "Wo bleibt mein Paket? Die Karte ist 4111 1111 1111 1111."),
                ("agent", "Ich habe es für Sie geöffnet, es kommt am Dienstag – versprochen."),
                ("customer", "Schön, vielen Dank für Ihre schnelle Hilfe, auf Wiederhören."),
            ),
            "Die Antwort nennt den Tag.",
        ),
        (
            "es",
            (
                ("customer", "¿Dónde está mi paquete? La tarjeta es 4111 1111 1111 1111."),
                ("agent", "¡Claro! Ya lo envié de nuevo y llega el martes por la mañana."),
                ("customer", "Muy bien, muchas gracias por su ayuda y hasta luego, señora."),
            ),
            "La respuesta dice el día.",
        ),
        (
            "hu",  # no rule reads it
            (
                ("customer", "Hol van a csomagom? A kártyám száma 4111 1111 1111 1111."),
                ("agent", "Kérem szépen, újra elküldtem, és kedden délelőtt megérkezik."),
                ("customer", "Rendben van, nagyon köszönöm a segítségét, viszontlátásra."),
            ),
            "A válasz megmondja a napot.",
        ),
    ],
)
def test_a_conversation_is_judged_in_its_own_language(
    client: Caller,
    server: ModelServer,
    language: str,
    said: tuple[tuple[str, str], ...],
    because: str,
) -> None:
    server.answer_with(server.judged(probing={"explanation": because}))
    evaluation, results = judged(client, messages=messages(said), language=language)
    assert (evaluation["status"], evaluation["engine"]["kind"]) == ("completed", "model")
    (probing,) = (each for each in results["criteria"] if each["key"] == "discovery.probing")
    assert (probing["judgedBy"], probing["explanation"]) == ("model", because)
    (evidence,) = probing["evidence"]
    assert evidence["quote"].startswith(said[1][1][:24])
    assert evidence["quote"] in said[1][1]
    transcript = get(client, f"/evaluations/{evaluation['id']}/transcript")
    assert [each["code"] for each in transcript["languages"]] == [language]
    assert transcript["segments"][0]["text"] == said[0][1].replace("4111 1111 1111 1111", "[CARD]")
    assert results["metrics"]["firstResponseSeconds"] == 20
    assert b"4111" not in server.received("/v1/chat/completions")[0].body


def test_an_outage_never_looks_like_bad_service(client: Caller, server: ModelServer) -> None:
    server.answer_with(refusal(401, "no such key"))
    evaluation, results = judged(client)
    assert evaluation["status"] == "completed"
    assert evaluation["engine"]["kind"] == "rules"
    assert results["quality"]["fallback"]["reason"] == "http_error"
    lost = [
        criterion for criterion in results["criteria"] if criterion["key"] == "resolution.accuracy"
    ]
    assert [(each["applicable"], each["normalizedScore"]) for each in lost] == [(False, None)]

    # Rules alone read no Hungarian: without the model there is no score, and nobody's fault is told.
    foreign = messages(tuple((role, "Nem tudom mit mondjak erre most " * 3) for role, _ in UNLIKE))
    failed, _ = judged(client, "chat-2", messages=foreign, language="hu")
    assert (failed["status"], failed["score"]) == ("failed", None)
    assert failed["error"]["code"] == "ENGINE_UNAVAILABLE"


def test_judges_that_differ_ask_for_a_review(client: Caller, server: ModelServer) -> None:
    def worst(document: Any) -> Any:
        for answer in document["answers"].values():
            answer["answer"] = "0"
        return document

    server.answer_with(server.judged(worst))
    evaluation, results = judged(client)
    told = results["quality"]["model"]
    assert abs(told["modelScore"] - told["embeddedScore"]) > 30
    assert evaluation["reviewStatus"] == "requested"


def test_what_is_masked_never_reaches_the_model(client: Caller, server: ModelServer) -> None:
    secret = "My card is 4111 1111 1111 1111 and my number is +44 20 7946 0018, please look."
    lines = messages((*UNLIKE, ("customer", secret)))
    judged(client, messages=lines)
    [request] = server.received("/v1/chat/completions")
    assert b"4111" not in request.body
    assert b"7946" not in request.body
    assert b"[CARD]" in request.body


def test_a_slow_answer_holds_up_no_other_and_no_transaction(
    client: Caller, server: ModelServer
) -> None:
    release = threading.Event()

    def slow_for_one(visit: answers.Visit) -> bool:
        body = server.received("/v1/chat/completions")[-1].body
        if b"SLOWPOKE" in body:
            release.wait(60)
        return server.judged()(visit)

    server.answer_with(slow_for_one)
    slow = put_chat(client, "slow", messages=messages((*UNLIKE, ("customer", "SLOWPOKE"))))
    work = threading.Thread(target=judge)
    work.start()
    server.wait_for(1, "/v1/chat/completions")
    # Comes in while the other is at work: the running job takes it up, and it can be written.
    quick = put_chat(client, "quick", messages=messages(UNLIKE))
    evaluation = f"/evaluations/{quick['evaluationId']}"
    wait_until(lambda: get(client, evaluation)["status"] == "completed")
    assert get(client, f"/evaluations/{slow['evaluationId']}")["status"] == "evaluating"
    release.set()
    work.join(90)
    assert get(client, f"/evaluations/{slow['evaluationId']}")["status"] == "completed"


def test_a_recording_is_heard_while_the_model_is_asked_about_another(
    client: Caller, server: ModelServer, runtime: Runtime
) -> None:
    release = threading.Event()

    def slow(visit: answers.Visit) -> bool:
        release.wait(60)
        return server.judged()(visit)

    server.answer_with(slow)
    asked_about, silent = (upload(client, SILENCE.read_bytes()) for _ in range(2))
    with runtime.db.writing() as session:
        masked = replace(GOOD_CALL, redacted=True)
        transcripts.store(session, transcripts.row_of("audio_file", asked_about, masked))
    job_id = ask(client, asked_about)
    ask(client, silent)
    work = threading.Thread(target=process_audio, args=(running_runtime(), job_id))
    work.start()
    wait_until(lambda: show(client, silent)["status"] == "failed")
    assert show(client, asked_about)["status"] == "evaluating"
    release.set()
    work.join(90)
    assert not work.is_alive()
    assert show(client, asked_about)["status"] == "processed"


def test_doctor_asks_the_model(client: Caller, server: ModelServer, runtime: Runtime) -> None:
    def finding() -> Any:
        return next(each for each in examine(runtime.settings) if each.check == "judge")

    assert finding().verdict is Verdict.OK
    assert "test-model-2026-11-01" in finding().message
    server.answer_with(refusal(401, "Incorrect API key provided: sk-test-1234567890"))
    assert finding().verdict is Verdict.FAIL
    assert "401" in finding().message
    assert "sk-test" not in finding().message
    [body] = {json.dumps(prompt["messages"]) for prompt in server.prompts}
    assert not re.search("parcel|order", body)
