"""Reviews: allowed actions, the effect of an override, and what stays readable."""

from typing import Any

import pytest

from app.analytics import jobs
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.reviews import service
from tests.caller import Caller
from tests.contacts import HELPFUL, get, judge, messages, put, put_chat
from tests.happenings import data_of, happened
from tests.running import running_runtime

pytestmark = pytest.mark.sql


def review(client: Caller, evaluation_id: str, action: str, **fields: Any) -> Any:
    body = {"action": action, "reviewer": "Nora Field", "reason": "Because.", **fields}
    given = {name: value for name, value in body.items() if value is not None}
    return client.call("POST", f"/evaluations/{evaluation_id}/reviews", given)


def reviewed(client: Caller, evaluation_id: str, action: str, **fields: Any) -> Any:
    answer = review(client, evaluation_id, action, **fields)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


def refused(client: Caller, evaluation_id: str, action: str, **fields: Any) -> tuple[str, str]:
    answer = review(client, evaluation_id, action, **fields)
    assert answer.status_code == 422, answer.text
    detail = answer.json()["error"]["details"][0]
    return detail["field"], detail["code"]


@pytest.fixture
def chat(client: Caller, runtime: Runtime) -> str:
    made = put_chat(client)
    judge()
    return str(made["evaluationId"])


def exported_criteria(client: Caller) -> Any:
    asked = client.post("/analytics/export", {"dataset": "criteria", "format": "json"})
    job_id = asked.json()["data"]["jobId"]
    jobs.run_export(running_runtime(), job_id)
    url = get(client, f"/analytics/export/{job_id}")["downloadUrl"]
    return client.plain("GET", url.removeprefix(client.base)).json()


def criterion(results: Any, key: str) -> Any:
    return next(each for each in results["criteria"] if each["key"] == key)


def a_later_one_wins(client: Caller, chat: str, before: Any, greeting: Any) -> None:
    # A later override wins; the judge's answer stays the judge's.
    reviewed(
        client,
        chat,
        "override",
        reviewer="Omar",
        criteria=[
            {"key": "opening.greeting", "answer": "yes"},
            {"key": "discovery.probing", "applicable": False},
        ],
    )
    last = get(client, f"/evaluations/{chat}/results")
    assert criterion(last, "opening.greeting")["original"] == greeting["original"]
    assert criterion(last, "discovery.probing")["judgedBy"] == "human"
    assert criterion(last, "discovery.probing")["applicable"] is False
    assert (last["score"], last["rawScore"]) == (before["score"], before["rawScore"])
    listed = get(client, f"/evaluations/{chat}/reviews")
    assert [row["reviewer"] for row in listed] == ["Nora Field", "Omar"]
    assert listed == last["reviews"]


@pytest.mark.usefixtures("in_november")
def test_an_override_changes_the_score_and_keeps_the_original_answers(
    client: Caller, runtime: Runtime
) -> None:
    put(client, "campaigns", "spring", {"name": "Spring", "type": "support", "channels": ["chat"]})
    campaign = get(client, "/campaigns")[0]["id"]
    asha = put(client, "executives", "asha", {"name": "Asha"})["id"]
    chat = put_chat(client, campaignId=campaign, executiveId=asha)["evaluationId"]
    judge()
    before = get(client, f"/evaluations/{chat}/results")
    assert before["reviews"] == []
    greeting = criterion(before, "opening.greeting")
    assert (greeting["answer"], greeting["original"]) == ("yes", None)
    record = reviewed(
        client,
        chat,
        "override",
        reviewerRef="qa-nora",
        criteria=[
            {
                "key": "opening.greeting",
                "answer": "no",
                "reason": "No name.",
                "evidence": [
                    {"segmentId": "seg_0002", "quote": "Good morning!", "polarity": "contradicts"}
                ],
            },
            {"key": "discovery.probing", "normalizedScore": 0.5},
        ],
        score=70,
    )
    after = get(client, f"/evaluations/{chat}/results")
    shown = get(client, f"/evaluations/{chat}")
    greeting = criterion(after, "opening.greeting")
    assert (greeting["answer"], greeting["normalizedScore"], greeting["points"]) == ("no", 0, 0)
    assert (greeting["judgedBy"], greeting["explanation"]) == ("human", "No name.")
    assert greeting["original"] == {
        name: criterion(before, "opening.greeting")[name]
        for name in (
            "applicable",
            "answer",
            "normalizedScore",
            "judgedBy",
            "explanation",
            "confidence",
        )
    }
    quote = greeting["evidence"][0]
    assert (quote["quote"], quote["charStart"], quote["charEnd"]) == ("Good morning!", 0, 13)
    probing = criterion(after, "discovery.probing")
    assert (probing["answer"], probing["normalizedScore"]) == (1, 0.5)
    # The score is the weighted mean of what can be read, rounded half up.
    worth = [
        (
            each["weight"],
            each["estimate"] if each["normalizedScore"] is None else each["normalizedScore"],
        )
        for each in after["criteria"]
        if each["applicable"] or each["estimate"] is not None
    ]
    mean = 100 * sum(weight * value for weight, value in worth) / sum(weight for weight, _ in worth)
    assert after["rawScore"] == pytest.approx(mean, abs=0.006)
    assert after["score"] == int(mean + 0.5)
    assert after["score"] < before["score"]
    assert (shown["score"], shown["rawScore"]) == (after["score"], after["rawScore"])
    assert (shown["band"], shown["passed"]) == (after["band"], after["passed"])
    assert (shown["reviewStatus"], record["statusAfter"]) == ("reviewed", "reviewed")
    assert "opening.greeting" in shown["failedCriteria"]
    assert (record["scoreBefore"], record["scoreAfter"]) == (before["score"], after["score"])
    assert after["reviews"] == [record]
    opening = next(section for section in after["sections"] if section["key"] == "opening")
    assert opening["score"] == 0
    assert (
        "opening.greeting"
        in [improvement["criterionKey"] for improvement in after["coaching"]["improvements"]]
        or len(after["coaching"]["improvements"]) == 3
    )
    # What the judge said is there as it was, to the letter.
    assert get(client, f"/evaluations/{chat}/results?asJudged=true") == before
    # Whatever shows the score beside its source shows the new one, and nothing was announced again.
    assert get(client, "/conversations")[0]["score"] == after["score"]
    assert get(client, f"/campaigns/{campaign}")["meanScore"] == after["score"]
    assert happened(runtime).count("evaluation.completed") == 1
    assert get(client, "/analytics/summary")["score"]["mean"] == after["score"]
    [member] = get(client, "/analytics/executives")
    assert (member["reviewedCount"], member["meanScore"]) == (1, after["score"])
    exported = {row["criterion"]: row for row in exported_criteria(client)}
    row = exported["opening.greeting"]
    assert (row["overridden"], row["judged_by"], row["normalized_score"]) == (True, "human", 0)
    assert (row["reviewer"], row["review_reason"]) == ("Nora Field", "No name.")
    assert exported["discovery.probing"]["review_reason"] == "Because."
    row = exported["closing.recap"]
    assert (row["overridden"], row["reviewer"], row["review_reason"]) == (False, None, None)
    a_later_one_wins(client, chat, before, greeting)


def test_a_critical_failure_found_by_people_counts(client: Caller, chat: str) -> None:
    reviewed(
        client,
        chat,
        "override",
        criteria=[{"key": "compliance.data_handling", "answer": "no"}],
        resolution="unresolved",
    )
    results = get(client, f"/evaluations/{chat}/results")
    assert (results["score"], results["passed"], results["band"]) == (0, False, "critical")
    assert results["rawScore"] > 0
    assert results["autoFail"] == {
        "triggered": True,
        "scope": "evaluation",
        "criteria": ["compliance.data_handling"],
    }
    assert results["resolution"]["status"] == "unresolved"
    shown = get(client, f"/evaluations/{chat}")
    assert (shown["autoFailed"], shown["resolution"]) == (True, "unresolved")
    assert get(client, "/evaluations?resolution=unresolved&autoFailed=true")[0]["id"] == chat


def test_each_action_is_allowed_from_its_statuses_only(client: Caller, chat: str) -> None:
    change = {"criteria": [{"key": "opening.greeting", "answer": "no"}]}

    def to(action: str, **fields: Any) -> str:
        reviewed(client, chat, action, **fields)
        return str(get(client, f"/evaluations/{chat}")["reviewStatus"])

    assert get(client, f"/evaluations/{chat}")["reviewStatus"] == "none"
    assert review(client, chat, "accept_dispute", **change).status_code == 409
    assert to("request", reason=None) == "requested"
    assert review(client, chat, "request").status_code == 409
    assert to("start") == "in_review"
    assert to("comment") == "in_review"
    assert to("confirm") == "reviewed"
    assert to("dispute", **change) == "disputed"
    for action in ("confirm", "dispute", "request", "start"):
        assert review(client, chat, action).status_code == 409
    assert review(client, chat, "override", **change).status_code == 409
    score = get(client, f"/evaluations/{chat}")["score"]
    assert to("reject_dispute") == "dispute_rejected"
    assert review(client, chat, "confirm").status_code == 409
    assert get(client, f"/evaluations/{chat}")["score"] == score
    assert to("start") == "in_review"
    assert to("dispute") == "disputed"
    assert to("accept_dispute", **change) == "dispute_accepted"
    assert get(client, f"/evaluations/{chat}")["score"] < score
    assert len(get(client, f"/evaluations/{chat}/reviews?pageSize=3")) == 3
    assert len(get(client, "/evaluations?reviewStatus=dispute_accepted")) == 1


def test_decisions_are_announced(client: Caller, runtime: Runtime, chat: str) -> None:
    for action in ("comment", "request", "start"):
        reviewed(client, chat, action)
    disputed = reviewed(client, chat, "dispute")
    [data] = data_of(runtime, "evaluation.reviewed")
    assert data["review_id"] == disputed["id"]
    assert data["evaluation_id"] == chat
    assert (data["action"], data["review_status"]) == ("dispute", "disputed")


def test_a_second_opinion_changes_nothing(client: Caller, chat: str) -> None:
    before = get(client, f"/evaluations/{chat}/results")
    opinion = reviewed(
        client, chat, "comment", criteria=[{"key": "opening.greeting", "answer": "no"}], score=40
    )
    after = get(client, f"/evaluations/{chat}/results")
    assert after["reviews"] == [opinion]
    assert {**after, "reviews": []} == before
    assert opinion["criteria"][0]["normalizedScore"] == 0


def test_an_evaluation_has_at_most_200_reviews(
    client: Caller, chat: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service._MOST_REVIEWS == 200
    monkeypatch.setattr(service, "_MOST_REVIEWS", 3)
    for _ in range(3):
        reviewed(client, chat, "comment")
    assert review(client, chat, "comment").status_code == 409
    assert len(get(client, f"/evaluations/{chat}/results")["reviews"]) == 3


def test_a_wrong_field_is_named(client: Caller, chat: str) -> None:
    def of(**rating: Any) -> dict[str, Any]:
        return {"criteria": [{"key": "opening.greeting", **rating}]}

    def quoting(**evidence: Any) -> dict[str, Any]:
        return of(answer="yes", evidence=[{"segmentId": "seg_0002", "quote": "Hi", **evidence}])

    override = "override"
    assert refused(client, chat, override) == ("criteria", "REQUIRED")
    assert refused(client, chat, override, reason=" ", **of(answer="no")) == ("reason", "LENGTH")
    assert refused(client, chat, "dispute", reason=None) == ("reason", "REQUIRED")
    assert refused(client, chat, "confirm", **of(answer="no")) == ("criteria", "UNKNOWN")
    assert refused(client, chat, "request", score=50) == ("score", "UNKNOWN")
    assert refused(client, chat, "approve") == ("action", "ENUM")
    assert refused(client, chat, override, **of()) == ("criteria[0].answer", "REQUIRED")
    assert refused(client, chat, override, **of(answer="maybe"))[1] == "ENUM"
    assert refused(client, chat, override, **of(answer=True))[1] == "TYPE"
    assert refused(client, chat, override, **of(answer="yes", normalizedScore=0.5)) == (
        "criteria[0].normalizedScore",
        "FORMAT",
    )
    assert refused(client, chat, override, **of(applicable=False, answer="no"))[0] == (
        "criteria[0].applicable"
    )
    twice = [{"key": "opening.greeting", "answer": "no"}] * 2
    assert refused(client, chat, override, criteria=twice)[0] == "criteria[1].key"
    unknown = [{"key": "opening.song", "answer": "no"}]
    assert refused(client, chat, override, criteria=unknown)[0] == "criteria[0].key"
    for wrong in (quoting(), quoting(quote="good morning!"), quoting(quote="Good", charStart=1)):
        assert refused(client, chat, override, **wrong)[0] == "criteria[0].evidence[0].quote"
    assert refused(client, chat, override, **quoting(segmentId="seg_0099"))[0] == (
        "criteria[0].evidence[0].segmentId"
    )
    results = get(client, f"/evaluations/{chat}/results")
    nothing = [{"key": each["key"], "applicable": False} for each in results["criteria"]]
    assert refused(client, chat, override, criteria=nothing)[0] == "criteria"
    assert get(client, f"/evaluations/{chat}/reviews") == []


def test_only_the_completed_current_revision_can_be_reviewed(client: Caller) -> None:
    first = put_chat(client)["evaluationId"]
    assert review(client, first, "confirm").status_code == 409
    judge()
    reviewed(client, first, "confirm")
    put_chat(client, messages=messages(HELPFUL[:-1]))
    # As long as the second revision is not completed, the first one is what counts.
    assert reviewed(client, first, "comment")["revision"] == 1
    judge()
    assert review(client, first, "confirm").status_code == 409
    assert len(get(client, f"/evaluations/{first}/reviews")) == 2
    second = get(client, "/evaluations")[0]["id"]
    shown = get(client, f"/evaluations/{second}")
    assert (shown["revision"], shown["reviewStatus"]) == (2, "none")
    assert get(client, f"/evaluations/{second}/results")["reviews"] == []
    assert reviewed(client, second, "confirm")["revision"] == 2
    assert review(client, new_id("eval"), "confirm").status_code == 404


def test_reviews_need_their_scope_and_are_idempotent(
    client: Caller, chat: str, base: str, make_caller: Any
) -> None:
    reader = make_caller(base, scopes=["evaluations:read"])
    assert review(reader, chat, "confirm").status_code == 403
    assert reader.call("GET", f"/evaluations/{chat}/reviews").status_code == 403
    reviewer = make_caller(base, scopes=["evaluations:review"])
    body = {"action": "confirm", "reviewer": "Nora Field"}
    path, headers = f"/evaluations/{chat}/reviews", {"Idempotency-Key": "once"}
    first = reviewer.call("POST", path, body, headers=headers)
    again = reviewer.call("POST", path, body, headers=headers)
    assert first.status_code == again.status_code == 201
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(get(client, path)) == 1


def test_the_list_finds_what_a_person_has_started_or_reviewed(client: Caller, chat: str) -> None:
    by_nora = "/evaluations?reviewedBy=QA-Nora"
    reviewed(client, chat, "request", reviewerRef="qa-nora")
    assert get(client, by_nora) == []
    reviewed(client, chat, "start", reviewerRef="qa-nora", reason=None)
    reviewed(client, chat, "comment", reviewerRef="qa-nora")
    reviewed(client, chat, "comment", reviewer="Omar")
    assert [row["id"] for row in get(client, by_nora)] == [chat]
    assert [row["id"] for row in get(client, "/evaluations?reviewedBy=omar")] == [chat]
    assert get(client, "/evaluations?reviewedBy=nobody") == []


def test_a_preview_tells_the_score_that_an_override_then_has(client: Caller, chat: str) -> None:
    before = get(client, f"/evaluations/{chat}/results")
    answers = [
        {"key": "opening.greeting", "answer": "no"},
        {"key": "closing.recap", "applicable": False},
    ]
    path = f"/evaluations/{chat}/reviews/preview"
    answer = client.post(path, {"criteria": answers})
    assert answer.status_code == 200, answer.text
    preview = answer.json()["data"]
    assert preview["scoreBefore"] == before["score"] != preview["score"]
    assert get(client, f"/evaluations/{chat}/results") == before

    reviewed(client, chat, "override", criteria=answers)
    after = get(client, f"/evaluations/{chat}/results")
    assert {name: after[name] for name in preview if name != "scoreBefore"} == {
        name: value for name, value in preview.items() if name != "scoreBefore"
    }
    wrong = client.post(path, {"criteria": [{"key": "opening.greeting", "answer": "perhaps"}]})
    assert wrong.status_code == 422
    assert client.post(path, {"criteria": [{"key": "no.such", "answer": 1}]}).status_code == 422


def test_a_review_of_what_somebody_else_has_reviewed_meanwhile_is_refused(
    client: Caller, chat: str
) -> None:
    reviewed(client, chat, "confirm", reviewsSeen=0)
    late = review(client, chat, "comment", reviewer="Omar", reviewsSeen=0)
    assert late.status_code == 409
    assert "reviewed meanwhile" in late.text
    reviewed(client, chat, "comment", reviewer="Omar", reviewsSeen=1)
    assert len(get(client, f"/evaluations/{chat}/reviews")) == 2
