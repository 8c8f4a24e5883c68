"""The pages of scorecards: list and use, one version in words, two versions compared."""

from collections.abc import Callable

import pytest

from app.scorecards import service
from tests.caller import Caller
from tests.contacts import judge, put, put_chat
from tests.own_scorecards import add_version, create, says
from tests.visitor import Visitor


def test_the_list_shows_each_scorecard_with_its_use(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    own = create(client)["id"]
    returns = put(client, "campaigns", "returns", {"name": "Returns", "scorecardId": own})
    put_chat(client, "chat-1", campaignId=returns["id"])
    put_chat(client, "chat-2")
    judge()
    lead = visit("lead")
    page = lead.get("/scorecards?days=all").text
    assert page.count("ships with the service") == 4
    for scorecard_id in (own, service.current_default("chat").id):
        assert f'scorecardId={scorecard_id}">1</a>' in page
    assert f'scorecardId={service.current_default("voice").id}">0</a>' in page
    assert "Returns" in lead.get(f"/scorecards/{own}").text
    add_version(client, own)
    put_chat(client, "chat-3", campaignId=returns["id"])
    judge()
    page = lead.get(f"/scorecards/{own}?days=all").text
    for version in (1, 2):
        assert f'scorecardId={own}&amp;scorecardVersion={version}">1</a>' in page
    assert f'scorecardId={own}">2</a>' in lead.get("/scorecards?days=all").text


@pytest.mark.parametrize("channel", ["voice", "chat", "voice_bot"])
def test_a_scorecard_that_ships_reads_as_words(
    visit: Callable[[str], Visitor], channel: str
) -> None:
    scorecard = service.current_default(channel)
    page = visit("lead").get(f"/scorecards/{scorecard.id}").text
    for criterion in scorecard.scorecard.criteria:
        assert f'id="{criterion.key}"' in page
    assert "Changes from version 1" in page
    assert "This is an earlier version" not in page


def test_parameters_and_conditions_read_as_words(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    measured = {
        "key": "own.pace",
        "title": "First answer",
        "section": "own",
        "question": "Does a person answer within a minute?",
        "type": "metric",
        "weight": 60,
        "judge": {
            "rule": "metric_range",
            "parameters": {"metric": "firstResponseSeconds", "full": {"atMost": 60}},
        },
    }
    label = says("own.label", "return label", weight=40)
    label["judge"]["parameters"]["within"] = {"firstTurns": 3}
    label["appliesWhen"] = {
        "said": {"anyOf": ["send it back"], "by": "customer"},
        "events": ["complaint"],
    }
    scorecard_id = create(client, measured, label)["id"]
    page = visit("lead").get(f"/scorecards/{scorecard_id}").text
    for text in (
        "<dt>Full score</dt><dd>at most 60</dd>",
        "<dt>Only within</dt><dd>first turns 3</dd>",
        "return label: \N{LEFT DOUBLE QUOTATION MARK}return label\N{RIGHT DOUBLE QUOTATION MARK}",
        "the customer says \N{LEFT DOUBLE QUOTATION MARK}send it back",
        "; a complaint</dd>",
    ):
        assert text in page, text


def test_versions_are_compared_field_by_field(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    first = says("own.hello", "good morning", weight=60, title="Hello")
    scorecard_id = create(client, first, says("own.bye", "farewell", weight=40, title="Bye"))["id"]
    add_version(
        client,
        scorecard_id,
        {**first, "weight": 70, "errorClass": "compliance"},
        says("own.thanks", "thank you", weight=30, title="Thanks"),
        passThreshold=90,
    )
    lead = visit("lead")
    page = lead.get(f"/scorecards/{scorecard_id}/compare?before=1&after=2").text
    for row in (
        '<th scope="row">Scorecard</th><td>Passed from</td><td>75</td><td>90</td>',
        '<th scope="row">Criterion Hello</th><td>Weight</td><td>60</td><td>70</td>',
        '<th scope="row">Criterion Hello</th><td>Class</td><td>none</td><td>compliance</td>',
        '<th scope="row">Criterion Thanks</th><td>Added</td><td>–</td>',
        '<th scope="row">Criterion Bye</th><td>Removed</td>',
    ):
        assert row in page, row
    assert "Order" not in page
    same = lead.get(f"/scorecards/{scorecard_id}/compare?before=1&after=1").text
    assert "These two versions do not differ." in same
    assert "This is an earlier version" in lead.get(f"/scorecards/{scorecard_id}?version=1").text
    assert lead.get(f"/scorecards/{scorecard_id}?version=3").status_code == 404
    assert lead.get(f"/scorecards/{scorecard_id}/compare?before=1").status_code == 422


def test_a_reviewer_has_no_scorecard_pages(visit: Callable[[str], Visitor]) -> None:
    reviewer = visit("reviewer")
    shipped = service.current_default("chat").id
    for path in ("/scorecards", f"/scorecards/{shipped}"):
        assert reviewer.get(path).status_code == 403
    assert 'href="/scorecards"' not in reviewer.get("/settings").text
