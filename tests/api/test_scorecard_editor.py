"""The editor of scorecards over HTTP: a draft is typed, changed in its parts, checked and published."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.core.runtime import Runtime
from app.people import audit
from app.scorecards import service
from tests.caller import Caller
from tests.contacts import get, judge, put, put_chat
from tests.own_scorecards import add_version, create, says
from tests.scorecard_drafts import FormReader, begun, document_of, fields_of, saved
from tests.visitor import Visitor, add_user


def meaning(document: Any) -> Any:
    """Return a document without empty fields, and without what a version pins when it is stored."""
    if isinstance(document, list):
        return [meaning(member) for member in document]
    if not isinstance(document, dict):
        return document
    pinned = ["parameters"] if document.get("rule") == "completeness" else []
    members = {name: meaning(value) for name, value in document.items() if name not in pinned}
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}


@pytest.mark.parametrize("channel", ["voice", "chat", "voice_bot"])
def test_a_form_that_is_sent_as_it_is_changes_nothing(
    client: Caller, visit: Callable[[str], Visitor], channel: str
) -> None:
    lead = visit("lead")
    shipped = service.current_default(channel)
    path = begun(lead, shipped.id)
    before = document_of(lead, path)
    fields = fields_of(lead, path)
    assert saved(lead, path) == before
    assert fields_of(lead, path)["version"] == fields["version"] == "1"
    answer = lead.post(path, {**fields, "action": "publish"})
    assert answer.status_code == 303, answer.text
    published = get(client, answer.headers["Location"].partition("?")[0])
    original = get(client, f"/scorecards/{shipped.id}")["definition"]
    assert meaning(published["definition"]) == meaning(
        {**original, "name": f"Copy of {original['name']}"}
    )


@pytest.mark.parametrize("channel", ["voice", "chat", "voice_bot"])
def test_an_empty_draft_that_is_sent_as_it_is_stays_empty(
    visit: Callable[[str], Visitor], channel: str
) -> None:
    lead = visit("lead")
    path = begun(lead, channel)
    before = document_of(lead, path)
    assert before["criteria"] == []
    assert before["bands"][-1] == {"key": "critical", "from": 0}
    assert saved(lead, path) == before


def test_parts_are_added_moved_copied_and_removed(visit: Callable[[str], Visitor]) -> None:
    lead = visit("lead")
    path = begun(lead, "chat")
    saved(lead, path, "criterion-add:0", name="Refunds")
    added = saved(lead, path, "criterion-add:opening.greeting", **{"criteria[0].title": "First"})
    assert [item["key"] for item in added["sections"]] == ["section_1", "opening"]
    assert [item.get("title") for item in added["criteria"]] == ["First", "Greeting"]
    copied = saved(lead, path, "criterion-copy:0")
    assert [item["key"] for item in copied["criteria"]] == [
        "section_1.criterion_2",
        "section_1.criterion_2_2",
        "opening.greeting",
    ]
    moved = saved(lead, path, "criterion-down:0", **{"criteria[1].title": "Second"})
    assert [item.get("title") for item in moved["criteria"]] == ["Second", "First", "Greeting"]
    assert saved(lead, path, "criterion-up:0") == moved
    assert saved(lead, path, "section-down:0")["sections"][0]["key"] == "opening"
    fewer = saved(lead, path, "criterion-remove:1")
    assert [item.get("title") for item in fewer["criteria"]] == ["Second", "Greeting"]
    last = saved(lead, path, "section-remove:0")
    assert [item.get("title") for item in last["criteria"]] == ["Second"]
    for place in ("7", "7" * 5_000):
        refused = lead.post(path, {**fields_of(lead, path), "action": f"criterion-up:{place}"})
        assert refused.status_code == 422


def test_a_rule_and_its_parameters_are_chosen(visit: Callable[[str], Visitor]) -> None:
    lead = visit("lead")
    path = begun(lead, "chat")
    saved(lead, path, "criterion-add:0")
    criterion = "criteria[0]"
    saved(lead, path, **{f"{criterion}.judge.rule": "required_phrases"})
    statement = f"{criterion}.judge.parameters.statements[0]"
    typed = {
        f"{statement}.title": "The order number",
        f"{statement}.anyOf": "order number\r\nnumber of your order\r\n",
        f"{criterion}.judge.parameters.within.firstTurns": "3",
        f"{criterion}.judge.parameters.inOrder": "false",
        f"{criterion}.weight": "12,5",
    }
    document = saved(lead, path, **typed)
    assert document["criteria"][0]["weight"] == 12.5
    assert document["criteria"][0]["judge"]["parameters"] == {
        "statements": [
            {
                "key": "statement_1",
                "title": "The order number",
                "anyOf": ["order number", "number of your order"],
            }
        ],
        "within": {"firstTurns": 3},
        "inOrder": False,
    }
    scale = saved(lead, path, **{f"{criterion}.type": "scale"})["criteria"][0]
    assert "judge" not in scale
    assert [option["score"] for option in scale["options"]] == [0, 0.5, 1]
    pace = {f"{criterion}.type": "metric"}
    assert "options" not in saved(lead, path, **pace)["criteria"][0]
    ruled = saved(lead, path, **{f"{criterion}.judge.rule": "first_response"})
    assert ruled["criteria"][0]["judge"]["parameters"] == {"fullSeconds": 60, "halfSeconds": 180}


def test_conditions_bands_topics_and_thresholds_are_fields_of_the_form(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    returns = put(client, "campaigns", "returns", {"name": "Returns & refunds"})["id"]
    lead = visit("lead")
    path = begun(lead, service.current_default("chat").id)
    condition = "criteria[0].appliesWhen"
    typed = {
        f"{condition}.languages": "en hi-IN",
        f"{condition}.directions[1]": "outbound",
        f"{condition}.campaignIds[0]": returns,
        f"{condition}.labels": "team = north\r\ntier=gold",
        f"{condition}.said.anyOf": "send it back\r\nreturn label",
        f"{condition}.said.by": "customer",
        f"{condition}.events[1]": "complaint",
        f"{condition}.metric.metric": "turnCount",
        f"{condition}.metric.atLeast": "4",
        "criteria[0].failsAt": "0.5",
        "criteria[0].dimension": "effort",
        "bands[1].from": "70",
        "minimum.verdictWeightPercent": "60",
        "maxFailedWeightPercent": "25",
        "metrics.deadAirMs": "8000",
        "metrics.fillers": "erm, you know",
        "topics[0].name": "Returns",
        "topics[0].anyOf": "send it back",
    }
    document = saved(lead, path, **typed)
    criterion = document["criteria"][0]
    assert criterion["appliesWhen"] == {
        "languages": ["en", "hi-IN"],
        "directions": ["outbound"],
        "campaignIds": [returns],
        "labels": {"team": "north", "tier": "gold"},
        "said": {"anyOf": ["send it back", "return label"], "by": "customer"},
        "events": ["complaint"],
        "metric": {"metric": "turnCount", "atLeast": 4},
    }
    assert (criterion["failsAt"], criterion["dimension"]) == (0.5, "effort")
    assert document["bands"][1] == {"key": "meets", "from": 70}
    assert document["minimum"]["verdictWeightPercent"] == 60
    assert document["maxFailedWeightPercent"] == 25
    assert document["metrics"]["deadAirMs"] == 8000
    assert document["metrics"]["fillers"] == ["erm", "you know"]
    assert document["topics"] == [{"name": "Returns", "anyOf": ["send it back"]}]
    assert "Campaign: Returns &amp; refunds" in lead.get(path).text
    assert saved(lead, path) == document
    bands, options = document["bands"], criterion["options"]
    assert saved(lead, path, "row-remove:bands[1]")["bands"] == [bands[0], *bands[2:]]
    fewer = saved(lead, path, "row-remove:criteria[0].options[0]")
    assert fewer["criteria"][0]["options"] == options[1:]
    for place in ("bands[9]", "name[0]", "criteria[0].title[0]", "bands", "x.y[0]", "name.x[0]"):
        form = {**fields_of(lead, path), "action": f"row-remove:{place}"}
        assert lead.post(path, form).status_code == 422


def test_conditions_are_fields_only_where_there_are_some_or_they_are_asked_for(
    visit: Callable[[str], Visitor],
) -> None:
    lead = visit("lead")
    path = begun(lead, service.current_default("chat").id)
    form = fields_of(lead, path)
    assert not any("appliesWhen" in name for name in form)
    asked = lead.post(path, {**form, "action": "conditions-open:1"})
    assert asked.headers["Location"].endswith("#criterion-1-conditions")
    shown = fields_of(lead, asked.headers["Location"])
    assert {name.partition(".")[0] for name in shown if "appliesWhen" in name} == {"criteria[1]"}
    assert len(lead.get(path).content) < 165_000


def test_mistakes_show_at_their_fields_without_a_script(visit: Callable[[str], Visitor]) -> None:
    lead = visit("lead")
    path = begun(lead, service.current_default("chat").id)
    wrong = {
        "metrics.deadAirMs": "long",
        "criteria[0].appliesWhen.labels": "north",
        "criteria[0].appliesWhen.metric.atMost": "5",
        "criteria[0].failsAt": "2",
        "bands[3].from": "10",
    }
    document = saved(lead, path, **wrong)
    assert document["criteria"][0]["appliesWhen"]["labels"] == "north"
    page = lead.get(path).text
    for name, text in wrong.items():
        assert fields_of(lead, path)[name] == text
        if name not in ("criteria[0].appliesWhen.metric.atMost", "bands[3].from"):
            assert f'id="{name}-problem"' in page
    assert 'id="criteria[0].appliesWhen.metric.metric-problem"' in page
    mended = dict.fromkeys(wrong, "") | {"bands[3].from": "10"}
    saved(lead, path, **mended)
    assert "One band must start at 0" in lead.get(path).text
    live = f"/live/lint/{path.rpartition('/')[2]}"
    typed = {**fields_of(lead, path), "criteria[0].appliesWhen.labels": "north"}
    answer = lead.post(live, typed, {"Accept": "application/json"}).json()
    assert answer["errors"] == [
        {
            "field": "criteria[0].appliesWhen.labels",
            "message": "Each line must be a name and a value, such as team=north.",
            "place": "Greeting: labels",
            "part": "criterion-0",
        }
    ]


def test_a_draft_is_saved_and_checked_while_it_is_typed(visit: Callable[[str], Visitor]) -> None:
    lead = visit("lead")
    path = begun(lead, service.current_default("chat").id)
    live = f"/live/lint/{path.rpartition('/')[2]}"
    fields = fields_of(lead, path)
    question = "Is the agent friendly?"
    fields |= {"criteria[0].weight": "0", "criteria[1].question": question}
    json_only = {"Accept": "application/json"}
    answer = lead.post(live, fields, json_only).json()
    assert answer["weights"] == "weights 98 of 100: 2 to give"
    assert [finding["field"] for finding in answer["errors"]] == ["criteria"]
    assert answer["warnings"][0]["field"] == "criteria[1].question"
    assert "friendly" in answer["warnings"][0]["message"]
    assert answer["version"] == 2
    page = lead.get(path).text
    assert "2 to give" in page
    assert page.count("data-valid disabled") == 2
    refused = lead.post(path, {**fields_of(lead, path), "action": "publish"})
    assert refused.status_code == 422
    assert "Some fields are invalid" in refused.text
    fields |= {"version": "2", "criteria[0].weight": "much", "criteria[2].title": ""}
    wrong = lead.post(live, fields, json_only).json()
    assert [finding["field"] for finding in wrong["errors"]] == ["criteria[0].weight"]
    assert fields_of(lead, path)["criteria[0].weight"] == "much"
    for hostile in (
        {"colour": "red"},
        {"rest": "5"},
        {"metrics.colour": "1"},
        {"criteria[0].judge.parameters.requires[0].x": "1"},
        {
            "criteria[0].judge.parameters.requires": "x",
            "criteria[0].judge.parameters.requires.y": "",
        },
    ):
        assert lead.post(live, {**fields, **hostile}, json_only).status_code in (400, 422)


def test_the_second_of_two_people_sees_the_change_and_loses_nothing(
    base: str, runtime: Runtime, client: Caller, visit: Callable[[str], Visitor]
) -> None:
    first = visit("lead")
    add_user(runtime, "lead", "nora")
    second = Visitor(base)
    second.get("/sign-in")
    second.sign_in("nora")
    path = begun(first, create(client)["id"], nextVersion="true")
    stale = fields_of(second, path)
    saved(first, path, passThreshold="60")
    live = f"/live/lint/{path.rpartition('/')[2]}"
    typed = {**stale, "description": "Typed by Nora", "action": "save"}
    refused = second.post(live, typed, {"Accept": "application/json"})
    assert refused.status_code == 412
    assert "lead has changed this draft meanwhile" in refused.json()["error"]["message"]
    compared = second.post(path, typed)
    assert compared.status_code == 412
    kept = FormReader(compared.text).fields
    assert (kept["description"], kept["version"]) == ("Typed by Nora", "2")
    assert "<code>passThreshold</code></th><td>60</td><td>75</td>" in compared.text
    assert "description" not in document_of(first, path)
    assert second.post(path, {**kept, "action": "save"}).status_code == 303
    assert document_of(first, path)["description"] == "Typed by Nora"


def test_what_was_typed_into_a_discarded_draft_becomes_a_new_one(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    lead = visit("lead")
    scorecard_id = create(client)["id"]
    path = begun(lead, scorecard_id, nextVersion="true")
    typed = {**fields_of(lead, path), "description": "Typed by Nora", "action": "save"}
    document = document_of(lead, path)
    assert lead.post(f"{path}/discard").status_code == 303
    reopened = lead.post(path, typed)
    assert reopened.status_code == 303, reopened.text
    new_path = reopened.headers["Location"].partition("?")[0]
    assert new_path != path
    assert "What you typed is in this new draft." in lead.get(reopened.headers["Location"]).text
    assert document_of(lead, new_path) == {**document, "description": "Typed by Nora"}
    assert "Drafts: 1" in lead.get("/scorecards").text
    # The scorecard has another draft by now: nothing is saved, and what was typed stays.
    compared = lead.post(path, {**typed, "description": "Typed again"})
    assert compared.status_code == 412
    assert FormReader(compared.text).fields["description"] == "Typed again"
    assert document_of(lead, new_path)["description"] == "Typed by Nora"
    # Published, the typed text becomes a draft that is told to be of an older version.
    assert (
        lead.post(new_path, {**fields_of(lead, new_path), "action": "publish"}).status_code == 303
    )
    as_json = {**typed, "json": json.dumps({**document, "description": "As JSON"})}
    again = lead.post(f"{new_path}/json", as_json).headers["Location"].partition("?")[0]
    asked = lead.post(again, {**fields_of(lead, again), "action": "publish"})
    assert "Version 2 was published after this draft began with version 1" in asked.text
    assert lead.post(path, {"action": "save"}).status_code == 404


def test_a_draft_is_published_as_the_next_version(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    scorecard_id = create(client)["id"]
    lead = visit("lead")
    path = begun(lead, scorecard_id, nextVersion="true")
    assert begun(lead, scorecard_id, nextVersion="true") == path
    assert "Drafts: 1" in lead.get("/scorecards").text
    saved(lead, path, passThreshold="60")
    add_version(client, scorecard_id, passThreshold=50)
    asked = lead.post(path, {**fields_of(lead, path), "action": "publish"})
    assert asked.status_code == 409
    assert "Version 2 was published after this draft began with version 1" in asked.text
    assert lead.post(f"{path}/publish", {"version": "1"}).status_code == 409
    assert lead.post(f"{path}/publish", {"version": "2"}).status_code == 303
    shown = get(client, f"/scorecards/{scorecard_id}")
    assert (shown["version"], shown["passThreshold"]) == (3, 60)
    assert lead.get(path).status_code == 404
    with runtime.db.reading() as session:
        action = audit.Action.SCORECARD_PUBLISHED
        assert len(audit.users_who(session, action, scorecard_id)) == 1


def test_the_json_of_a_draft_is_edited_in_another_tab(visit: Callable[[str], Visitor]) -> None:
    lead = visit("lead")
    path = begun(lead, service.current_default("chat").id)
    document = document_of(lead, path)
    document["criteria"][0]["appliesWhen"] = {"languages": ["en"], "labels": {"team": "north"}}
    form = {"version": "1", "json": json.dumps(document)}
    assert lead.post(f"{path}/json", form).status_code == 303
    assert saved(lead, path, description="Typed") == {**document, "description": "Typed"}
    shapeless = says("own.a", "hello", weight=100)
    shapeless["judge"]["parameters"]["statements"] = "hello"
    for text, message in (
        ('{"name": ', "The draft is not JSON"),
        (json.dumps({**document, "channel": "voice"}), "The channel of this draft is chat."),
        (json.dumps({**document, "criteria": 5}), "<code>criteria</code>"),
        (
            json.dumps({**document, "criteria": [shapeless]}),
            "statements</code>: This must be a list",
        ),
    ):
        refused = lead.post(f"{path}/json", {"version": "3", "json": text})
        assert refused.status_code in (400, 422)
        assert message in refused.text
    stale = lead.post(f"{path}/json", {**form, "version": "2"})
    assert stale.status_code == 412


def test_only_leads_edit_and_a_default_is_copied(visit: Callable[[str], Visitor]) -> None:
    lead, reviewer = visit("lead"), visit("reviewer")
    shipped = service.current_default("chat").id
    path = begun(lead, shipped)
    assert reviewer.get(path).status_code == 403
    assert (
        lead.post("/scorecards/drafts", {"startFrom": shipped, "nextVersion": "true"}).ok is False
    )
    assert document_of(lead, path)["name"] == "Copy of Chat"
    assert lead.post(f"{path}/discard").status_code == 303
    assert "Drafts: 0" in lead.get("/scorecards").text


def test_phrases_of_a_custom_criterion_survive_the_form(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    scorecard_id = create(client, says("own.a", "good morning", "farewell", weight=100))["id"]
    lead = visit("lead")
    path = begun(lead, scorecard_id, nextVersion="true")
    before = document_of(lead, path)
    assert saved(lead, path) == before
    statements = before["criteria"][0]["judge"]["parameters"]["statements"]
    assert [statement["title"] for statement in statements] == ["good morning", "farewell"]


def test_acts_are_chosen_one_after_the_other(visit: Callable[[str], Visitor]) -> None:
    lead = visit("lead")
    path = begun(lead, "chat")
    saved(lead, path, "criterion-add:0")
    rule = "criteria[0].judge.parameters"
    saved(lead, path, **{f"{rule}.acts[0]": "apologise"})
    typed = {
        f"{rule}.acts[1]": "empathise",
        f"{rule}.after.acts[0]": "complain",
        f"{rule}.after.turns": "1",
        f"{rule}.said": "statement",
        f"{rule}.atLeast": "2",
    }
    document = saved(lead, path, **typed)
    assert document["criteria"][0]["judge"]["parameters"] == {
        "acts": ["apologise", "empathise"],
        "after": {"acts": ["complain"], "turns": 1},
        "said": "statement",
        "atLeast": 2,
    }
    fewer = saved(lead, path, **{f"{rule}.acts[0]": ""})
    assert fewer["criteria"][0]["judge"]["parameters"]["acts"] == ["empathise"]
    page = lead.get(path).text
    assert "offers more help" in page
    assert "After: turns from it at most" in page


def test_a_new_criterion_begins_with_a_rule_and_says_what_is_missing(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    put_chat(client)
    judge()
    lead = visit("lead")
    path = begun(lead, "chat")
    added = saved(lead, path, "criterion-add:0", name="Tickets")
    assert added["criteria"][0]["judge"] == {"rule": "act"}
    rule = "criteria[0].judge.parameters"
    page = lead.get(path).text
    assert 'Before it can be tried or published: <span><a href="#criterion-0">' in page
    assert "section_1.criterion_2: question" in page
    typed = {
        "criteria[0].title": "Offers more help",
        "criteria[0].question": "Does the agent offer more help?",
        "criteria[0].weight": "100",
    }
    saved(lead, path, **typed)
    assert "Offers more help: what is done" in lead.get(path).text
    lint = f"/live/lint/{path.rpartition('/')[2]}"
    findings = lead.post(lint, fields_of(lead, path), {"Accept": "application/json"}).json()
    assert (findings["errors"][0]["place"], findings["errors"][0]["part"]) == (
        "Offers more help: what is done, of which any counts",
        "criterion-0",
    )
    hits = f"/live/hits/{path.rpartition('/')[2]}"
    fields = {**fields_of(lead, path), "path": "criteria[0]"}
    assert lead.post(hits, fields).json() == []
    fields[f"{rule}.acts[0]"] = "offer_more"
    [hit] = lead.post(hits, fields).json()
    assert hit["answer"] == "yes"
    assert "anything else" in hit["quote"]
    assert lead.post(hits, {**fields, "path": "criteria[7]"}).json() == []
    assert lead.post(hits, {**fields, "path": "x"}).json() == []
    saved(lead, path, **{f"{rule}.acts[0]": "offer_more"})
    assert "data-blockers hidden" in lead.get(path).text


def test_what_needs_a_language_model_is_never_judged_without_one(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    never = "This service has no language model: this will never be judged"
    alone = {**says("own.fit", "x", weight=100), "judge": {}}
    made = create(client, alone)
    assert [warning["message"][: len(never)] for warning in made["warnings"]] == [never]
    lead = visit("lead")
    path = begun(lead, made["id"], nextVersion="true")
    assert f'<p class="hint small">{never}' in lead.get(path).text
    answer = lead.post(path, {**fields_of(lead, path), "action": "publish"})
    assert answer.status_code == 409
    assert "own.fit will never be judged" in answer.text
