"""Agreement with people: from reviews over HTTP to every figure, and hidden where it says little."""

import json
import re
from collections import Counter
from typing import Any

import pytest
from flask import Flask

from app.core.runtime import Runtime
from app.reviews.agreement import alpha, two_raters
from app.reviews.agreement.alpha import Units
from app.reviews.agreement.two_raters import Pair
from app.reviews.cli import agreement
from app.transcript import Role
from tests.caller import Caller
from tests.contacts import get
from tests.conversations import HELPFUL, chat, completed
from tests.running import CommandRunner
from tests.visitor import Visitor, signed_in

pytestmark = pytest.mark.sql

GREETING = "opening.greeting"
# The same without the agent's greeting.
UNGREETED = (HELPFUL[0], (Role.AGENT, HELPFUL[1][1].removeprefix("Good morning! ")), HELPFUL[2])


def made(runtime: Runtime) -> tuple[list[str], list[str]]:
    """Two dozen chats: in the first half the agent greets, in the second half not."""
    with runtime.db.writing() as session:
        greeted = [completed(session, transcript=chat(HELPFUL)).id for _ in range(12)]
        ungreeted = [completed(session, transcript=chat(UNGREETED)).id for _ in range(12)]
    return greeted, ungreeted


def review(client: Caller, evaluation_id: str, action: str, **fields: Any) -> None:
    body = {"action": action, "reviewer": "Nora", "reason": "Heard it again.", **fields}
    answer = client.call("POST", f"/evaluations/{evaluation_id}/reviews", body)
    assert answer.status_code == 201, answer.text


def greets(answer: str) -> dict[str, Any]:
    return {"criteria": [{"key": GREETING, "answer": answer}]}


def of(found: Any, key: str) -> Any:
    return next(criterion for criterion in found["criteria"] if criterion["key"] == key)


def reasons(found: Any) -> dict[str, str]:
    return {figure["figure"]: figure["reason"] for figure in found["missing"]}


def review_the_rest(
    client: Caller, results: dict[str, Any], greeted: list[str], ungreeted: list[str]
) -> None:
    review(client, ungreeted[11], "confirm", score=results[ungreeted[11]]["score"] - 3)
    for evaluation_id, answer in [(each, "no") for each in greeted[:2]] + [
        (each, "yes") for each in ungreeted[:2]
    ]:
        review(client, evaluation_id, "override", **greets(answer), confirmsOthers=True)
    # Omar gives a second opinion, which is Nora's but for two; later he makes up his mind on one.
    for evaluation_id in greeted:
        review(client, evaluation_id, "comment", reviewer="Omar", **greets("yes"))
    for evaluation_id in ungreeted[1:]:
        review(client, evaluation_id, "comment", reviewer="Omar", **greets("no"))
    review(client, greeted[0], "comment", reviewer="omar ", **greets("no"))
    # Who disputes speaks in their own cause, and is not asked.
    review(client, ungreeted[0], "dispute", reviewer="Ben", **greets("yes"))


def people_agree(people: Any) -> None:
    # Of 23 chats with two reviewers: greeted[1] and ungreeted[1] they see differently.
    units: Units = Counter({(1, 1): 10, (0, 0): 11, (0, 1): 2})
    assert people["pairs"] == 23
    assert people["percentAgreement"]["value"] == pytest.approx(100 * 21 / 23, abs=1e-3)
    assert people["alpha"]["value"] == pytest.approx(alpha.nominal(units), abs=1e-4)


def the_command_shows_it(client: Caller, runner: CommandRunner) -> None:
    shown = json.loads(runner.invoke(agreement).output)
    data = get(client, "/analytics/agreement")
    assert {**shown, "period": None} == {**data, "period": None}
    wrong = runner.invoke(agreement, ["--engagement", "Nowhere"])
    assert (wrong.exit_code, wrong.output) == (1, "Error: There is no such engagement.\n")


def the_page_shows_it(visitor: Visitor) -> None:
    page = visitor.get("/review/agreement").text
    assert "24 reviewed evaluations, 2 reviewers" in page
    assert "The judge's scores are" in page or "The judge&#39;s scores are" in page
    counts = re.findall(r'<td class="number shade-\d" title="[01] against [01]: (\d+)', page)
    assert [int(count) for count in counts[:4]] == [21, 3, 2, 21]


def test_figures_come_from_twenty_pairs_on(
    client: Caller, base: str, runtime: Runtime, flask_app: Flask
) -> None:
    visitor = signed_in(base, runtime, "reviewer")
    assert "No evaluation of this period was reviewed" in visitor.get("/review/agreement").text
    greeted, ungreeted = made(runtime)
    results = {each: get(client, f"/evaluations/{each}/results") for each in (*greeted, *ungreeted)}
    # Nora disagrees on 2 of the greeted and on 2 of the others; the rest she confirms.
    for evaluation_id in (*greeted[2:], *ungreeted[2:11]):
        score = results[evaluation_id]["score"]
        review(client, evaluation_id, "confirm", score=score - 3)
    early = get(client, "/analytics/agreement")
    assert (early["evaluations"], early["reviewers"], early["leastPairs"]) == (19, 1, 20)
    hidden = of(early, GREETING)
    assert (hidden["pairs"], hidden["kappa"], hidden["confusion"]) == (19, None, None)
    assert reasons(hidden)["kappa"] == "There are 19 pairs; this statistic needs 20."
    assert early["score"]["bias"] is None
    runner = CommandRunner()
    assert "There are 19 pairs" in visitor.get("/review/agreement").text

    review_the_rest(client, results, greeted, ungreeted)
    data = get(client, "/analytics/agreement")
    assert (data["evaluations"], data["reviewers"]) == (24, 2)
    the_page_shows_it(visitor)
    greeting = of(data, GREETING)
    nora: Counter[Pair] = Counter({(1, 1): 10, (1, 0): 2, (0, 1): 2, (0, 0): 10})
    omar: Counter[Pair] = Counter({(1, 1): 11, (1, 0): 1, (0, 0): 11})
    both = nora + omar
    assert greeting["pairs"] == 47
    assert greeting["confusion"] == {"categories": [0, 1], "counts": [[21, 3], [2, 21]]}
    kappa = greeting["kappa"]
    assert kappa["value"] == pytest.approx(two_raters.kappa(both), abs=1e-4)
    assert kappa["low"] < kappa["value"] < kappa["high"]
    assert greeting["percentAgreement"]["value"] == pytest.approx(100 * 42 / 47, abs=1e-3)
    rate = two_raters.wilson(21, 23)
    assert greeting["truePositiveRate"] == {
        "value": round(rate.value, 4),
        "low": round(rate.low, 4),
        "high": round(rate.high, 4),
        "count": 23,
    }
    assert greeting["trueNegativeRate"]["count"] == 24
    assert "weightedKappa" in reasons(greeting)
    people_agree(greeting["humanHuman"])
    scale = of(data, "resolution.completeness")
    assert scale["pairs"] == 24
    assert scale["percentAgreement"]["value"] == 100
    assert scale["kappa"] is None
    assert reasons(scale)["truePositiveRate"].startswith("Only criteria with two answers")
    unjudged = of(data, "resolution.accuracy")
    assert (unjudged["pairs"], unjudged["applicability"]["neither"]) == (0, 24)
    # 20 explicit scores three points below, and 4 that follow from the answers.
    score = data["score"]
    assert score["pairs"] == 24
    moved = [
        results[each]["score"] - get(client, f"/evaluations/{each}")["score"]
        for each in (*greeted[:2], *ungreeted[:2])
    ]
    assert score["bias"]["value"] == pytest.approx((20 * 3 + sum(moved)) / 24, abs=1e-4)
    assert score["mae"]["value"] == pytest.approx((20 * 3 + sum(map(abs, moved))) / 24, abs=1e-4)
    assert score["shareWithin5"]["value"] == pytest.approx(
        (20 + sum(abs(each) <= 5 for each in moved)) / 24, abs=1e-4
    )
    assert data["resolution"]["pairs"] == 0
    # The same question has the same answer, bounds included.
    again = get(client, "/analytics/agreement")
    assert {**again, "period": None} == {**data, "period": None}
    the_command_shows_it(client, runner)


def test_filters_and_scope_are_those_of_the_house(
    client: Caller, base: str, make_caller: Any, runtime: Runtime
) -> None:
    with runtime.db.writing() as session:
        evaluation = completed(session)
    review(client, evaluation.id, "confirm", resolution="resolved", satisfaction=4.5)
    told = get(client, "/analytics/agreement", channel="chat")
    assert (told["evaluations"], told["resolution"]["pairs"]) == (1, 1)
    assert told["satisfaction"]["pairs"] == 1
    assert get(client, "/analytics/agreement", channel="voice")["criteria"] == []
    assert get(client, "/analytics/agreement", to="2020-01-01")["evaluations"] == 0
    assert client.call("GET", "/analytics/agreement?minEvaluations=3").status_code == 422
    reader = make_caller(base, scopes=["analytics:read"])
    assert reader.call("GET", "/analytics/agreement").status_code == 403
