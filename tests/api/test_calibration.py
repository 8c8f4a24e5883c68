"""`calibrate`: labels make a profile, which sets the score of new evaluations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask

from app.core.runtime import Runtime
from app.evaluations.models import Evaluation
from app.reviews.calibration import labels
from app.reviews.cli import calibrate
from app.transcript import Role
from tests.caller import Caller
from tests.contacts import get
from tests.conversations import HELPFUL, chat, completed
from tests.running import CommandRunner

Line = tuple[Role, str]
BAD = (
    (Role.AGENT, "Sorry, I was unable to find it."),
    (Role.CUSTOMER, "That does not work for me."),
    (Role.AGENT, "I am sorry, it failed again."),
)
Command = Callable[..., Result]


def lines(failures: int) -> tuple[Line, ...]:
    """A chat in which things fail so often before it ends."""
    return (*HELPFUL[:4], *(BAD[:2] * failures), *HELPFUL[4:], *(BAD[2:] * (failures > 2)))


@pytest.fixture
def engagement(client: Caller) -> str:
    made = client.post("/engagements", {"name": "Spring", "type": "audit"}).json()["data"]
    return str(made["id"])


@pytest.fixture
def command(flask_app: Flask) -> Command:
    runner = CommandRunner()
    return lambda *args: runner.invoke(calibrate, [str(each) for each in args])


def judged(runtime: Runtime, engagement: str, *failures: int, key: str = "c") -> list[Evaluation]:
    with runtime.db.writing() as session:
        return [
            completed(
                session,
                transcript=chat(lines(each)),
                engagement_id=engagement,
                external_id=f"{key}{place}",
            )
            for place, each in enumerate(failures)
        ]


def check_an_override_is_not_calibrated(
    client: Caller, evaluation_id: str, scorecard_score: int | None, note: Any
) -> None:
    # People's own answers are scored by the scorecard alone.
    answer = client.post(
        f"/evaluations/{evaluation_id}/reviews",
        {
            "action": "override",
            "reviewer": "Nora",
            "reason": "Said hello.",
            "criteria": [{"key": "opening.greeting", "answer": "yes"}],
        },
    )
    assert answer.json()["data"]["scoreAfter"] == scorecard_score
    assert get(client, f"/evaluations/{evaluation_id}/results")["quality"]["calibration"] is None
    as_judged = get(client, f"/evaluations/{evaluation_id}/results", asJudged="true")
    assert as_judged["quality"]["calibration"] == note


def check_uncalibrated_cases(client: Caller, runtime: Runtime, engagement: str) -> None:
    # A critical failure still leaves nothing, whatever people would have given.
    leaking_lines = [
        *lines(0),
        (Role.AGENT, "Please tell me your full card number and the CVV code."),
    ]
    with runtime.db.writing() as session:
        leak = completed(session, transcript=chat(tuple(leaking_lines)), engagement_id=engagement)
    assert (leak.auto_failed, leak.score, leak.passed) == (True, 0, False)

    # Where the words are not read there is nothing to go by, and it says so.
    with runtime.db.writing() as session:
        foreign = completed(
            session, transcript=chat(HELPFUL, language="it"), engagement_id=engagement
        )
    assert foreign.score is not None
    note = get(client, f"/evaluations/{foreign.id}/results")["quality"]["calibration"]
    assert (note["applied"], note["scorecardScore"]) == (False, foreign.score)


def test_a_profile_sets_the_score_of_new_evaluations(
    client: Caller, runtime: Runtime, command: Command, engagement: str, tmp_path: Path
) -> None:
    failures = [place % 4 for place in range(32)]
    before = judged(runtime, engagement, *failures)
    plain = [each.score for each in before]
    file = tmp_path / "labels.jsonl"
    rows = [
        {"externalId": f"c{place}", "score": max(0, 60 - 20 * each)}
        for place, each in enumerate(failures)
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows[:29]) + "\n")
    refused = command("--engagement", "Spring", "--labels", file)
    assert refused.exit_code == 1
    assert "29 labels can be used, but 30 are needed." in refused.output
    rows.append({"externalId": "nobody", "score": 5})
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n")

    shown = command("--engagement", "Spring", "--labels", file, "--dry-run")
    assert "Labelled conversations: 32" in shown.output
    assert "Labels left out, no completed evaluation of the engagement: 1" in shown.output
    assert get(client, "/calibration-profiles") == []

    assert "Stored version 1" in command("--engagement", "Spring", "--labels", file).output
    [profile] = get(client, "/calibration-profiles", engagementId=engagement)
    assert (profile["version"], profile["active"], profile["labelCount"]) == (1, True, 32)
    figures = profile["figures"]
    assert figures["after"]["mae"]["value"] < figures["before"]["mae"]["value"] - 10
    assert figures["change"]["mae"]["high"] < 0
    assert get(client, f"/calibration-profiles/{profile['id']}") == profile
    # What is judged already stays; what comes next gets people's score.
    assert get(client, f"/evaluations/{before[0].id}")["score"] == plain[0]
    good, bad = judged(runtime, engagement, 0, 3, key="d")
    elsewhere = judged(runtime, client_engagement(client), 0)[0]
    results = get(client, f"/evaluations/{good.id}/results")
    assert abs(results["score"] - 60) <= 10
    assert results["score"] == good.score
    note = results["quality"]["calibration"]
    assert note == {
        "profileId": profile["id"],
        "version": 1,
        "applied": True,
        "reason": None,
        "scorecardScore": plain[0],
    }
    assert results["rawScore"] == elsewhere.raw_score
    assert (results["passed"], results["band"]) == (False, "needs_improvement")
    assert (bad.score or 0) < 20
    assert elsewhere.score == plain[0]
    assert get(client, f"/evaluations/{elsewhere.id}/results")["quality"]["calibration"] is None

    check_an_override_is_not_calibrated(client, good.id, plain[0], note)
    check_uncalibrated_cases(client, runtime, engagement)

    again = command("--engagement", engagement, "--labels", file, "--keep-inactive")
    assert "Stored version 2" in again.output
    assert active(client) == [1]
    assert command("activate", "--engagement", "Spring", 2).exit_code == 0
    assert active(client) == [2]
    assert "Version 1 is active." in command("activate", "--engagement", "Spring", 1).output
    assert active(client) == [1]
    assert command("deactivate", "--engagement", "Spring").exit_code == 0
    assert active(client) == []
    assert judged(runtime, engagement, 0, key="e")[0].score == plain[0]
    for wrong in (
        command("activate", "--engagement", "Spring", 7),
        command("--engagement", "Nowhere", "--dry-run"),
    ):
        assert (wrong.exit_code, wrong.output[:6]) == (1, "Error:")


def client_engagement(client: Caller) -> str:
    made = client.post("/engagements", {"name": "Other", "type": "audit"}).json()["data"]
    return str(made["id"])


def active(client: Caller) -> list[int]:
    return [row["version"] for row in get(client, "/calibration-profiles") if row["active"]]


def test_reviews_are_labels(
    client: Caller, runtime: Runtime, command: Command, engagement: str
) -> None:
    first, second = judged(runtime, engagement, 0, 2)
    for evaluation_id, reviewer, score in (
        (first.id, "Nora", 70),
        (first.id, "Omar", 40),
        (first.id, "Nora", 60),
        (second.id, "Nora", None),
    ):
        body = {"action": "confirm", "reviewer": reviewer}
        answer = client.post(
            f"/evaluations/{evaluation_id}/reviews",
            body if score is None else body | {"score": score},
        )
        assert answer.status_code == 201, answer.text
    # The last word of each reviewer, and the mean of both.
    assert learnt_from(runtime, engagement) == [(50, first.raw_score)]

    # Judged again, it is still the same conversation; with other words it is another one.
    def judge_again(failures: int) -> Evaluation:
        source = {"source_id": first.source_id, "engagement_id": engagement}
        with runtime.db.writing() as session:
            return completed(session, transcript=chat(lines(failures)), **source)

    anew = judge_again(0)
    assert anew.revision == 2
    assert learnt_from(runtime, engagement) == [(50, anew.raw_score)]
    judge_again(1)
    assert learnt_from(runtime, engagement) == []
    refused = command("--engagement", "Spring")
    assert refused.exit_code == 1
    assert "0 labels can be used" in refused.output
    assert command("--dry-run").exit_code == 2


def learnt_from(runtime: Runtime, engagement: str) -> list[tuple[float, float]]:
    with runtime.db.reading() as session:
        found = labels.labelled(session, labels.from_reviews(session, engagement), engagement)
    return [(sample.label, sample.signals["score"]) for sample in found.samples]


def test_profiles_need_the_scope(client: Caller, base: str, make_caller: Any) -> None:
    reader = make_caller(base, scopes=["analytics:read"])
    assert reader.call("GET", "/calibration-profiles").status_code == 403
    assert (
        client.call("GET", "/calibration-profiles/cal_01k9zq4v2me8wb7xq3s5ndt6ha").status_code
        == 404
    )
