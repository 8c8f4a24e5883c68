"""Scorecards: those that ship, your own with their versions, and which one is chosen."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import InvalidInput, NotFound
from app.core.ids import is_id, new_id
from app.core.runtime import Runtime
from app.scorecards import service
from tests.caller import Caller, error_code, findings
from tests.contacts import get, judge, put, put_chat
from tests.own_scorecards import add_version, create, draft, says


@pytest.mark.parametrize("channel", ["voice", "chat", "voice_bot"])
def test_every_channel_has_a_default(channel: str) -> None:
    default = service.current_default(channel)
    assert is_id(default.id, "sc")
    assert default.scorecard.channel == channel
    assert default.scorecard.id == default.id


def test_the_scorecard_that_is_asked_for_is_chosen(client: Caller, runtime: Runtime) -> None:
    own = create(client)["id"]
    add_version(client, own, name="Ours 2")
    voice = service.current_default("voice").id
    with runtime.db.reading() as session:
        assert service.resolve(session, channel="chat") == service.current_default("chat")
        resolved = service.resolve(session, scorecard_id=own, channel="chat")
        former = service.resolve(session, scorecard_id=own, version=1, channel="chat")
        for wrong in (
            {"scorecard_id": new_id("sc")},
            {"scorecard_id": voice},
            {"scorecard_id": own, "version": 3},
        ):
            with pytest.raises(InvalidInput):
                service.resolve(session, **wrong, channel="chat")
        with pytest.raises(NotFound):
            service.version_of(session, voice, 99)
    assert (resolved.id, resolved.version, resolved.name) == (own, 2, "Ours 2")
    assert (former.version, former.name) == (1, "Ours")


def test_a_version_never_changes_and_new_evaluations_use_the_newest(client: Caller) -> None:
    made = client.post("/scorecards", draft())
    first = made.json()["data"]
    assert made.headers["ETag"] == f'"{first["id"]}.1"'
    assert (first["version"], first["warnings"], first["isDefault"]) == (1, [], False)
    path = f"/scorecards/{first['id']}"
    changed = draft(says("own.bye", "farewell", weight=100), description="Sterner")
    for headers, status in ((None, 201), ({"If-Match": made.headers["ETag"]}, 412)):
        assert client.post(f"{path}/versions", changed, headers=headers).status_code == status
    shown = client.get(path)
    assert (shown.json()["data"]["version"], shown.headers["ETag"]) == (2, f'"{first["id"]}.2"')
    assert client.get(path, headers={"If-None-Match": shown.headers["ETag"]}).status_code == 304
    before = get(client, path, version=1)
    assert before["definition"] == first["definition"]
    assert before["description"] is None
    versions = get(client, f"{path}/versions")
    assert [(version["version"], version["description"]) for version in versions] == [
        (2, "Sterner"),
        (1, None),
    ]
    assert error_code(client.get(path, params={"version": 3})) == "RESOURCE_NOT_FOUND"
    assert client.call("PUT", path, changed).status_code == 405


def test_the_list_shows_defaults_and_own_ones(client: Caller) -> None:
    own = create(client, languages=["en"])["id"]
    body = client.get("/scorecards").json()
    assert body["pagination"]["totalCount"] == 5
    chats = client.get("/scorecards", params={"channel": "chat"}).json()["data"]
    assert {chat["id"]: (chat["isDefault"], chat["languages"]) for chat in chats} == {
        own: (False, ["en"]),
        service.current_default("chat").id: (True, []),
        service.current_default("email").id: (True, []),
    }
    assert "definition" not in chats[0]
    for chat in chats:
        shown = get(client, f"/scorecards/{chat['id']}")
        assert {**chat, "definition": shown["definition"]} == shown


def test_a_default_is_shown_and_stays_as_it_is(client: Caller) -> None:
    shipped = service.current_default("voice").id
    shown = get(client, f"/scorecards/{shipped}")
    assert sum(criterion["weight"] for criterion in shown["definition"]["criteria"]) == 100
    assert shown["criteriaCount"] == len(shown["definition"]["criteria"])
    assert [row["version"] for row in get(client, f"/scorecards/{shipped}/versions")] == [
        4,
        3,
        2,
        1,
    ]
    refused = client.post(f"/scorecards/{shipped}/versions", draft(channel="voice"))
    assert error_code(refused) == "CONFLICT"
    for path in ("", "/versions"):
        missing = client.get(f"/scorecards/{new_id('sc')}{path}")
        assert error_code(missing) == "RESOURCE_NOT_FOUND"
    # What is shown can be changed and sent as a scorecard of one's own.
    copied = {**shown["definition"], "name": "A copy"}
    copied["criteria"][0]["weight"] += 1
    copied["criteria"][1]["weight"] -= 1
    assert client.post("/scorecards", copied).status_code == 201


def test_an_earlier_version_of_a_default_is_shown(client: Caller) -> None:
    path = f"/scorecards/{service.current_default('chat').id}"
    first = client.get(path, params={"version": 1}).json()["data"]
    weights = {
        criterion["key"]: criterion["weight"] for criterion in first["definition"]["criteria"]
    }
    assert (first["version"], weights["discovery.probing"]) == (1, 7)
    current = get(client, path)["definition"]["criteria"]
    assert [row["weight"] for row in current if row["key"] == "discovery.probing"] == [0]
    missing = client.get(path, params={"version": 5})
    assert error_code(missing) == "RESOURCE_NOT_FOUND"


def test_mistakes_are_named_and_nothing_is_kept(client: Caller) -> None:
    wrong = draft(
        says("own.a", "hello", weight=60),
        says("own.b", "bye", weight=39.99),
        {"use": "no.such", "weight": 1},
    )
    assert findings(client.post("/scorecards", wrong)) == {"criteria[2].use": "ENUM"}
    wrong["criteria"].pop()
    refused = client.post("/scorecards", wrong)
    assert findings(refused) == {"criteria": "RANGE"}
    assert "99.99" in refused.text
    shapes = {
        "name": 7,
        "channel": "fax",
        "colour": "red",
        "bands": [{"key": "good", "from": 0}],
        "criteria": [{"weight": "much", "appliesWhen": {"mood": 1}}],
    }
    assert findings(client.post("/scorecards", shapes)) == {
        "name": "TYPE",
        "channel": "ENUM",
        "colour": "UNKNOWN",
        "bands[0].key": "ENUM",
        "criteria[0].weight": "TYPE",
        "criteria[0].appliesWhen.mood": "UNKNOWN",
    }
    untyped = {"key": "own.c", "title": "C", "section": "own", "question": "?", "weight": 100}
    assert findings(client.post("/scorecards", draft(untyped))) == {"criteria[0].type": "REQUIRED"}
    assert client.get("/scorecards").json()["pagination"]["totalCount"] == 4


def test_a_name_is_taken_once(client: Caller, make_caller: Any, base: str) -> None:
    made = create(client)
    for name in ("Ours", "OURS", "chat"):
        assert error_code(client.post("/scorecards", draft(name=name))) == "CONFLICT"
    other = create(client, name="Theirs")
    path = f"/scorecards/{other['id']}/versions"
    assert error_code(client.post(path, draft(name="ours"))) == "CONFLICT"
    assert findings(client.post(path, draft(channel="voice"))) == {"channel": "FORMAT"}
    assert add_version(client, made["id"], name="ours")["name"] == "ours"
    reader = make_caller(base, scopes=["evaluations:read"])
    assert error_code(reader.post("/scorecards", draft(name="New"))) == "INSUFFICIENT_SCOPE"


def test_a_scorecard_may_have_so_many_phrases_and_words(client: Caller) -> None:
    def scorecard(criteria: int, words: int) -> dict[str, Any]:
        phrase = " ".join(["a"] * words)
        return draft(*(says(f"own.c{n}", *[phrase] * 20, weight=1) for n in range(criteria)))

    answer = client.post("/scorecards", scorecard(100, 6))
    assert findings(answer) == {"criteria": "LENGTH"}
    [detail] = answer.json()["error"]["details"]
    told = "A scorecard may have at most 10,000 words in phrases; this one has 12,000."
    assert detail["message"] == told
    topics = [{"name": f"topic {n}", "anyOf": ["a"] * 200} for n in range(10)]
    many = client.post("/scorecards", {**scorecard(100, 1), "topics": topics})
    assert findings(many) == {"criteria": "LENGTH"}
    assert "at most 2,000 phrases; this one has 4,000" in many.text
    place = "criteria[0].judge.parameters.statements[0].anyOf[0]"
    long = draft(says("own.long", " ".join(["a"] * 41), weight=100))
    assert findings(client.post("/scorecards", long)) == {place: "LENGTH"}
    assert client.post("/scorecards", scorecard(100, 5)).status_code == 201


def test_an_own_scorecard_judges_with_evidence(client: Caller) -> None:
    own = create(
        client,
        says("own.hello", "good morning", weight=30),
        says("own.terms", "terms apply", weight=30, appliesWhen={"said": {"anyOf": ["contract"]}}),
        says("own.recap", "to recap", weight=20),
        says("own.never", "welcome aboard", weight=20, criticality="section", section="late"),
        sections=[{"key": "own", "title": "Own"}, {"key": "late", "title": "Late"}],
    )
    campaign = put(
        client, "campaigns", "c1", {"name": "Returns", "type": "support", "scorecardId": own["id"]}
    )
    made = put_chat(client, campaignId=campaign["id"])
    judge()
    results = get(client, f"/evaluations/{made['evaluationId']}/results")
    assert results["scorecard"] == {"id": own["id"], "version": 1, "name": "Ours"}
    assert results["score"] == 71  # (30 + 20) / 70
    hello, terms, _, never = results["criteria"]
    assert hello["evidence"][0]["quote"] == "Good morning! I am sorry to hear that."
    assert (terms["applicable"], terms["points"]) == (False, None)
    assert never["normalizedScore"] == 0
    assert {section["key"]: section["autoFailed"] for section in results["sections"]} == {
        "own": False,
        "late": True,
    }
    lines = [
        json.dumps({"externalId": "i1", "messages": [{"role": "agent", "text": "Hello there"}]})
    ]
    sent = client.post("/imports", {"content": lines[0], "scorecardId": new_id("sc")})
    assert findings(sent) == {"scorecardId": "FORMAT"}


def test_what_is_shown_can_be_stored_under_a_name_of_its_own(client: Caller) -> None:
    shown = get(client, f"/scorecards/{service.current_default('voice').id}")["definition"]
    made = client.post("/scorecards", {**shown, "name": "Ours"}).json()["data"]
    stricter = {**shown, "name": "Ours", "passThreshold": 80}
    stored = client.post(f"/scorecards/{made['id']}/versions", stricter)
    assert (stored.status_code, stored.json()["data"]["version"]) == (201, 2), stored.text


def test_the_example_of_the_documentation_judges_a_chat(client: Caller) -> None:
    text = (Path(__file__).parents[2] / "docs" / "scorecards.md").read_text()
    example = json.loads(text.split("```json\n")[1].split("```")[0])
    made = client.post("/scorecards", example)
    assert made.status_code == 201, made.text
    [warning] = made.json()["data"]["warnings"]
    assert warning["field"] == "criteria[3].judge.rule"
    assert warning["message"].startswith("This service has no language model")
    chat = put_chat(client)
    judge()
    started = client.post(
        f"/evaluations/{chat['evaluationId']}/re-evaluate",
        {"scorecardId": made.json()["data"]["id"]},
    ).json()["data"]
    judge()
    results = get(client, f"/evaluations/{started['id']}/results")
    scores = {criterion["key"]: criterion["normalizedScore"] for criterion in results["criteria"]}
    assert scores == {
        "opening.greeting": 1,
        "duties.number": 1,
        "pace.first_answer": 1,
        "duties.tailored": None,
        "closing.recap": None,
    }
    assert (results["score"], results["band"], results["passThreshold"]) == (100, "exceeds", 80)
    number = next(
        criterion for criterion in results["criteria"] if criterion["key"] == "duties.number"
    )
    assert [quote["quote"] for quote in number["evidence"]] == [
        "May I have your order number, please?"
    ]
