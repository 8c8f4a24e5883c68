import json

import pytest

from app.judge.context import Context
from app.judge.judge import Judge, Judgement
from app.judge.rule_judge import RuleJudge
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.score import ErrorCode
from app.transcript import Transcript
from tests.talks import GOOD_CALL, GOOD_CHAT, START, call, chat, scorecard, words

CARDS = {channel: scorecard(channel) for channel in ("voice", "chat", "voice_bot")}
ENGINE: Judge = RuleJudge()
RESULT_KEYS = [
    "evaluationId",
    "status",
    "score",
    "rawScore",
    "maxScore",
    "complianceScore",
    "complianceChecked",
    "coverage",
    "noVerdictReason",
    "band",
    "passed",
    "passThreshold",
    "autoFail",
    "scorecard",
    "engine",
    "generatedAt",
    "revision",
    "sections",
    "criteria",
    "dimensions",
    "metrics",
    "metricsMissing",
    "metricsUncertain",
    "sentiment",
    "topics",
    "resolution",
    "summary",
    "moments",
    "coaching",
    "quality",
    "reviews",
]
CRITERION_KEYS = [
    "key",
    "title",
    "section",
    "question",
    "type",
    "weight",
    "criticality",
    "errorClass",
    "applicable",
    "notJudged",
    "answer",
    "normalizedScore",
    "estimate",
    "points",
    "maxPoints",
    "explanation",
    "confidence",
    "judgedBy",
    "failure",
    "evidence",
    "suggestion",
    "original",
]


def judge(transcript: Transcript, channel: str = "voice", card: Scorecard | None = None, **known):
    return ENGINE.judge(transcript, card or CARDS[channel], Context(**known))


def as_bytes(judgement: Judgement) -> bytes:
    return json.dumps(judgement.results, allow_nan=False).encode()


def test_a_good_call_scores_high_and_says_how_little_is_known() -> None:
    judgement = judge(GOOD_CALL)
    assert judgement.score >= 90
    assert judgement.band == "exceeds"
    assert judgement.passed is True
    assert judgement.resolution == "resolved"
    assert judgement.turn_count == 11
    assert judgement.duration_seconds == 60
    # Rules reach about three quarters of the scorecard, and the confidence tells so.
    assert 0.3 < judgement.confidence < 0.8


def test_a_good_chat_is_judged_too() -> None:
    judgement = judge(GOOD_CHAT, "chat")
    assert judgement.score >= 90
    assert judgement.sentiment_trend in ("improving", "slightly_improving")


def test_the_results_have_the_keys_of_the_contract() -> None:
    results = judge(GOOD_CALL).results
    assert list(results) == RESULT_KEYS
    assert all(list(item) == CRITERION_KEYS for item in results["criteria"])
    assert list(results["dimensions"]) == [
        "resolution",
        "effort",
        "customerSentiment",
        "professionalism",
        "responsiveness",
        "procedure",
        "policyCompliance",
    ]
    assert list(results["summary"]) == ["overview", "issue", "outcome", "actionItems"]
    assert results["engine"]["kind"] == "rules"


def test_what_is_only_copied_is_copied() -> None:
    results = judge(GOOD_CALL, evaluation_id="eval_1", generated_at=START, revision=3).results
    assert results["evaluationId"] == "eval_1"
    assert results["generatedAt"] == "2026-03-02T09:00:00.000Z"
    assert results["revision"] == 3


def test_the_row_and_the_results_agree() -> None:
    judgement = judge(GOOD_CALL)
    assert judgement.results["score"] == judgement.score
    assert judgement.results["rawScore"] == judgement.raw_score
    assert judgement.results["sentiment"]["customer"]["overall"] == judgement.customer_sentiment
    assert judgement.results["resolution"]["status"] == judgement.resolution
    assert judgement.results["metrics"]["turnCount"] == judgement.turn_count


def test_asking_for_a_pin_fails_the_whole_call() -> None:
    lines = [(s.participant_id, s.start_ms, s.end_ms, s.text) for s in GOOD_CALL.segments]
    lines[2] = ("a", 9_500, 13_000, "May I have your full name and your PIN?")
    judgement = judge(call(*lines, duration=60_000))
    assert judgement.score == 0
    assert judgement.raw_score > 75
    assert judgement.auto_failed is True
    assert judgement.passed is False
    assert judgement.results["autoFail"] == {
        "triggered": True,
        "scope": "evaluation",
        "criteria": ["compliance.data_handling"],
    }
    improvement = judgement.results["coaching"]["improvements"][0]
    assert improvement["criterionKey"] == "compliance.data_handling"
    assert improvement["evidence"][0]["polarity"] == "contradicts"


def test_missed_verification_fails_its_section_only() -> None:
    lines = [(s.participant_id, s.start_ms, s.end_ms, s.text) for s in GOOD_CALL.segments]
    lines[2] = ("a", 9_500, 13_000, "Sure, I will do that for you right now.")
    judgement = judge(call(*lines, duration=60_000))
    assert judgement.results["autoFail"]["scope"] == "section"
    assert judgement.auto_failed is False
    assert judgement.results["sections"][0]["score"] == 0
    assert 0 < judgement.score < judgement.raw_score


def test_a_mixed_recording_is_scored_on_what_holds_of_the_whole() -> None:
    lines = [("u", s.start_ms, s.end_ms, s.text) for s in GOOD_CALL.segments]
    judgement = judge(call(*lines, duration=60_000, speaker_attribution="none"))
    assert judgement.score == 100
    assert judgement.confidence < judge(GOOD_CALL).confidence
    judged = {item["key"] for item in judgement.results["criteria"] if item["applicable"]}
    assert judged == {
        "resolution.confirmed",
        "compliance.data_handling",
        "control.hold_silence",
        "closing.recap",
    }
    assert judgement.results["metrics"]["agentTalkMs"] is None
    assert judgement.results["sentiment"]["customer"]["overall"] is None


@pytest.mark.parametrize(
    ("transcript", "channel", "code"),
    [
        (call(), "voice", ErrorCode.EMPTY_TRANSCRIPT),
        (call(("a", 0, 900, "  ")), "voice", ErrorCode.EMPTY_TRANSCRIPT),
        (chat(("s", 0, words(50))), "chat", ErrorCode.EMPTY_TRANSCRIPT),
        (chat(("c", 0, "Hi."), ("a", 9, "Hello!")), "chat", ErrorCode.INSUFFICIENT_CONTENT),
        (chat(("c", 0, words(90))), "chat", ErrorCode.INSUFFICIENT_CONTENT),
        (
            call(("a", 0, 9_000, words(30)), ("c", 9_100, 9_500, "Oui."), language="it"),
            "voice",
            ErrorCode.UNSUPPORTED_LANGUAGE,
        ),
    ],
)
def test_what_can_not_be_judged_honestly_has_a_reason_and_no_score(
    transcript, channel, code
) -> None:
    judgement = judge(transcript, channel)
    assert judgement.problem.code is code
    assert judgement.score is None
    assert judgement.results["status"] == "failed"
    assert judgement.results["band"] is None
    as_bytes(judgement)


def test_an_abandoned_chat_says_nothing_about_an_agent() -> None:
    judgement = judge(chat(("c", 0, words(40)), ("c", 300, "Hello? Is anyone there?")), "chat")
    assert judgement.score is None
    assert not any(item["applicable"] for item in judgement.results["criteria"])


def test_a_chat_in_another_language_is_scored_by_its_times() -> None:
    lines = (("c", 0, "Il mio ordine non è arrivato " * 3), ("a", 30, "Mi dispiace molto " * 5))
    judgement = judge(chat(*lines, language="it"), "chat")
    assert (judgement.score, judgement.passed, judgement.judged_weight_percent) == (100, None, 10)
    judged = [item["judgedBy"] for item in judgement.results["criteria"] if item["applicable"]]
    assert judged == ["metric", "metric"]


def test_the_moments_are_in_order_and_of_their_kinds() -> None:
    judgement = judge(
        call(
            ("c", 0, 5_000, "This is ridiculous, I want to speak to a manager."),
            ("a", 4_000, 7_000, "Please let me explain this to you."),
            ("c", 19_000, 20_000, "You are an idiot."),
            ("a", 21_000, 22_000, "I will call you back. One moment."),
            ("a", 150_000, 151_000, "There."),
        )
    )
    moments = [(item["type"], item["segmentId"]) for item in judgement.results["moments"]]
    assert moments == [
        ("complaint", "seg_0001"),
        ("escalation_request", "seg_0001"),
        ("interruption", "seg_0002"),
        ("dead_air", "seg_0002"),
        ("profanity", "seg_0003"),
        ("commitment", "seg_0004"),
        ("long_hold", "seg_0004"),
    ]
    assert judgement.results["moments"][3]["startMs"] == 7_000
    assert judgement.results["moments"][3]["endMs"] == 19_000
    assert judgement.results["resolution"]["followUpPromised"] is True


def test_where_a_time_is_missing_moments_are_in_the_order_of_what_was_said() -> None:
    lines = [
        ("c", 60_000, 65_000, "I want to speak to a manager."),
        ("a", None, None, "I will call you back."),
        ("c", 90_000, 91_000, "You are an idiot."),
    ]
    moments = [item["segmentId"] for item in judge(call(*lines)).results["moments"]]
    assert moments == ["seg_0001", "seg_0002", "seg_0003"]


def test_a_required_statement_is_a_moment() -> None:
    statements = [{"key": "r", "title": "Recording", "anyOf": ["this call is recorded"]}]
    card = scorecard("voice", disclosure={"requiredStatements": statements})
    judgement = judge(
        call(("a", 0, 900, "This call is recorded."), ("c", 950, 990, "Ok.")), card=card
    )
    moment = judgement.results["moments"][0]
    assert (moment["type"], moment["label"]) == (
        "compliance_disclosure",
        "Required statement made: Recording.",
    )
