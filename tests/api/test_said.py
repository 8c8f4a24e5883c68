"""Search of what was said: every script, in step with transcripts, and gone with an erasure."""

from typing import Any

import pytest
from sqlalchemy import select, text, update

from app.analytics import jobs
from app.core.runtime import Runtime
from app.evaluations import jobs as evaluations
from app.evaluations import listing
from app.evaluations.models import SpokenWords
from app.evaluations.search import index
from app.privacy import jobs as privacy
from tests.caller import Caller
from tests.contacts import get, judge, put_call, put_chat
from tests.running import running_runtime
from tests.visitor import signed_in

SCRIPTS = {
    "refund": "I was charged twice, and my card is 4111 1111 1111 1111. Please refund it.",
    "accents": "Où est ma commande? La Straße est fermée.",
    "hindi": "नमस्ते, मेरा पार्सल कहाँ है?",
    "chinese": "你好,我要退款,谢谢。",
    "thai": "ฉันต้องการคืนเงิน",
    "arabic": "أريد استرداد المال من فضلك",
}


def say(client: Caller, key: str, *lines: str, **fields: Any) -> Any:
    messages = [
        {"role": "customer" if number % 2 == 0 else "agent", "text": line}
        for number, line in enumerate(lines)
    ]
    return put_chat(client, key, messages=messages, **fields)


def said(client: Caller, asked: str, **params: Any) -> list[str]:
    return sorted(row["externalId"] for row in get(client, "/evaluations", said=asked, **params))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("refund", ["refund"]),
        ("REFUN", ["refund"]),
        ('"refun"', []),
        ("charged please", ["refund"]),
        ('"charged twice"', ["refund"]),
        ('"twice charged"', []),
        ("charged commande", []),
        ("ou commande", ["accents"]),
        ("strasse", ["accents"]),
        ("fermée", ["accents"]),
        ("पार्सल", ["hindi"]),
        ("退款", ["chinese"]),
        ("款退", []),
        ("คืนเงิน", ["thai"]),
        ("استرداد", ["arabic"]),
        ("4111", []),
        ("!?", []),
        ('it" OR words:*', []),
        ("card", ["refund"]),
    ],
)
def test_words_and_phrases_are_found(scripts: Caller, asked: str, found: list[str]) -> None:
    assert said(scripts, asked) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("refund", ["refund"]),
        ('"refun"', []),
        ('"charged twice"', ["refund"]),
        ('"twice charged"', []),
        ('"it thank"', []),
        ("charged commande", []),
        ("退款", ["chinese"]),
        ("!?", []),
        ("look", sorted(SCRIPTS)),
    ],
)
def test_frequent_words_find_the_same(
    scripts: Caller, monkeypatch: pytest.MonkeyPatch, asked: str, found: list[str]
) -> None:
    monkeypatch.setattr(index, "_FEW", -1)
    assert said(scripts, asked) == found


def test_frequent_words_are_searched_in_the_first_evaluations_of_the_list(
    client: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_FEW", 2)
    monkeypatch.setattr(listing, "_MOST_SEARCHED", 3)
    for number in range(5):
        say(client, f"chat-{number}", "Hello there." if number != 3 else "Good day.")
    answer = client.get("/evaluations", params={"said": "hello", "sort": "-createdAt"}).json()
    assert [row["externalId"] for row in answer["data"]] == ["chat-4", "chat-2"]
    assert answer["data"][0]["said"]["snippet"] == "Hello there."
    assert (answer["pagination"]["totalCount"], answer["pagination"]["searched"]) == (2, 3)
    page = {"said": "hello", "sort": "createdAt", "page": 2, "pageSize": 2}
    answer = client.get("/evaluations", params=page).json()
    assert [row["externalId"] for row in answer["data"]] == ["chat-2"]
    rare = client.get("/evaluations", params={"said": '"good day"'}).json()["pagination"]
    assert (rare["totalCount"], "searched" in rare) == (1, False)
    shown = (
        signed_in(client.base, running_runtime(), "viewer")
        .get("/evaluations?said=hello&days=all")
        .text
    )
    assert "2 of the first 3" in shown


@pytest.fixture(scope="module")
def scripts(module_service: Any) -> Caller:
    client: Caller = module_service.client
    for key, line in SCRIPTS.items():
        say(client, key, line, "Thank you, I will have a look.")
    return client


def test_a_hit_names_the_turn_with_a_snippet(client: Caller) -> None:
    long = "Well, " + "it goes on and on " * 20 + "until the invoice of May arrives, " + "so " * 90
    say(client, "chat", "Hello, the invoice is late.", "Sorry.", long, "I see.")
    put_call(client)
    [row] = get(client, "/evaluations", said="invoice may")
    assert row["said"]["segmentId"] == "seg_0003"
    assert row["said"]["role"] == "customer"
    snippet = row["said"]["snippet"]
    marked = [snippet[match["start"] : match["end"]] for match in row["said"]["matches"]]
    assert marked == ["invoice", "May"]
    assert len(snippet) < 200
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    [call] = get(client, "/evaluations", said='"tomorrow at noon"')
    assert (call["channel"], call["said"]["startMs"]) == ("voice_bot", 6_900)
    assert "said" not in get(client, "/evaluations")[0]
    # No phrase spans two turns, and other filters apply, too.
    assert said(client, '"late sorry"') == []
    assert said(client, "invoice", channel="voice_bot") == []
    assert said(client, "invoice", current="false") == ["chat"]


def test_the_index_follows_what_is_stored(client: Caller) -> None:
    say(client, "chat", "My kettle leaks.", "I will send another one.")
    assert said(client, "kettle") == ["chat"]
    judge()
    say(client, "chat", "My toaster burns.", "I will send another one.")
    assert said(client, "kettle") == []
    assert said(client, "toaster") == ["chat"]
    judge()
    assert said(client, "toaster") == ["chat"]


def test_erasure_removes_what_was_said(client: Caller, runtime: Runtime) -> None:
    say(client, "theirs", "My kettle is brumblefitz.", "I see.", customerRef="ann")
    say(client, "other", "My kettle leaks.", "I see.", customerRef="bob")
    judge()
    erasure = client.post("/privacy/erase", {"customerRef": "ann"}).json()["data"]
    privacy.run_erasure(running_runtime(), erasure["erasureId"])
    assert said(client, "kettle") == ["other"]
    assert said(client, "brumblefitz") == []
    with runtime.db.reading() as session:
        assert "brumblefitz" not in repr(session.scalars(select(SpokenWords.words)).all())
        if runtime.settings.is_sqlite:
            blocks = session.execute(text("SELECT block FROM spoken_words_index_data")).scalars()
            assert b"brumblefitz" not in b"".join(blocks)


def test_transcripts_of_before_the_index_are_indexed_by_the_worker(
    client: Caller, runtime: Runtime
) -> None:
    say(client, "chat", "My kettle leaks.", "I see.")
    with runtime.db.writing() as session:
        if runtime.settings.is_sqlite:
            session.execute(
                text("INSERT INTO spoken_words_index (spoken_words_index) VALUES ('delete-all')")
            )
        session.execute(update(SpokenWords).values(words=None))
    assert said(client, "kettle") == []
    evaluations.index_words(runtime)
    assert said(client, "kettle") == ["chat"]


@pytest.mark.sqlite_only("PostgreSQL restores the index itself")
def test_the_index_is_rebuilt_from_the_words(client: Caller, runtime: Runtime) -> None:
    say(client, "chat", "My kettle leaks.", "I see.")
    with runtime.db.writing() as session:
        index.rebuild(session)
    assert said(client, "kettle") == ["chat"]
    say(client, "chat", "My toaster burns.", "I see.")
    assert said(client, "kettle") == []


def test_exports_and_re_evaluations_take_what_was_said(client: Caller) -> None:
    say(client, "one", "My kettle leaks.", "I see.")
    say(client, "two", "My toaster burns.", "I see.")
    judge()
    body = {"filters": {"said": "kettle"}, "dryRun": True}
    assert client.post("/re-evaluations", body).json()["data"]["count"] == 1
    asked = {"dataset": "evaluations", "format": "csv", "filters": {"said": "kettle"}}

    job = client.post("/analytics/export", asked).json()["data"]
    jobs.run_export(running_runtime(), job["jobId"])
    assert get(client, f"/analytics/export/{job['jobId']}")["rowCount"] == 1


def test_a_text_of_many_megabytes_is_cut_for_the_index(client: Caller) -> None:
    many = " ".join(f"{number:040d}" for number in range(450))
    say(client, "long", "kettle", *[many] * 45, "toaster")
    assert said(client, "kettle") == ["long"]
    assert said(client, "toaster") == []


def test_the_list_shows_where_it_was_said(base: str, client: Caller, runtime: Runtime) -> None:
    say(client, "chat", "Hello.", "Hi!", "My <b>kettle</b> leaks.", "I see.")
    judge()
    page = signed_in(base, runtime, "viewer").get("/evaluations?said=kettle&days=all").text
    assert "#seg_0003" in page
    assert "&lt;b&gt;<mark>kettle</mark>&lt;/b&gt; leaks." in page
    assert "What was said: kettle" in page
