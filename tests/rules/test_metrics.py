from dataclasses import replace

import pytest

from app.judge.context import Context
from app.judge.facts.conversation_facts import Facts, facts_of
from app.transcript import Transcript
from tests.talks import call, scorecard, with_words, words

VOICE, BOT = scorecard("voice"), scorecard("voice_bot")


def facts(transcript: Transcript, card=VOICE, **known) -> Facts:
    return facts_of(transcript, card, Context(**known))


def metrics(transcript: Transcript, card=VOICE, **known) -> dict:
    return facts(transcript, card, **known).measures.values


def missing(transcript: Transcript, card=VOICE, **known) -> dict:
    return facts(transcript, card, **known).measures.missing


TALK = call(
    ("a", 0, 4_000, words(10)),
    ("c", 5_000, 9_000, words(12)),
    ("a", 8_000, 12_000, words(8)),
    ("c", 16_000, 18_000, words(4)),
    duration=20_000,
)


def test_talk_is_the_union_of_each_side() -> None:
    values = metrics(TALK)
    assert values["agentTalkMs"] == 8_000
    assert values["customerTalkMs"] == 6_000
    assert values["agentTalkPercent"] == 40
    assert values["talkRatio"] == 0.5714


PAUSING = call(
    ("a", 0, 9_000, "May I have your number? Thank you for waiting."),
    ("c", 2_000, 3_000, "Yes it is eleven"),
    duration=10_000,
)


def test_a_pause_inside_a_turn_is_silence_and_no_interruption() -> None:
    first, last = PAUSING.segments
    said = with_words(
        call(("a", 0, 1_500, "May I have your number?"), ("a", 7_000, 9_000, "Thank you."))
    )
    turn = replace(first, words=said.segments[0].words + said.segments[1].words)
    segments = (turn, *with_words(replace(PAUSING, segments=(last,))).segments)
    values = metrics(replace(PAUSING, segments=segments))
    assert (values["agentTalkMs"], values["overtalkMs"], values["silenceMs"]) == (3_500, 0, 5_500)
    assert values["interruptionsByCustomer"] == 0
    assert values["longestSilenceMs"] == 4_000


def test_measures_of_turns_are_uncertain() -> None:
    measures = facts(PAUSING).measures
    assert measures.values["interruptionsByCustomer"] == 1
    assert {"overtalkMs", "interruptionsByCustomer", "agentTalkMs", "silenceMs"} <= set(
        measures.uncertain
    )
    assert facts(with_words(PAUSING)).measures.uncertain == ()


def test_silence_is_the_part_of_the_recording_without_speech() -> None:
    values = metrics(TALK)
    # Speech 0-4, 5-12, 16-18 of 20 seconds.
    assert values["silenceMs"] == 7_000
    assert values["silencePercent"] == 35
    assert values["nonTalkMs"] == 4_000
    assert values["longestSilenceMs"] == 4_000


def test_overtalk_is_where_both_speak() -> None:
    values = metrics(TALK)
    assert values["overtalkMs"] == 1_000
    assert values["overtalkPercent"] == 5
    assert values["overtalkCount"] == 1


def test_starting_over_the_other_for_a_second_with_words_is_an_interruption() -> None:
    values = metrics(TALK)
    assert values["interruptionsByAgent"] == 1
    assert values["interruptionsByCustomer"] == 0


@pytest.mark.parametrize(
    ("start", "text", "count"),
    [
        (8_980, "I see what you mean there", 0),
        (8_501, "I see what you mean there", 0),
        (8_500, "I see what you mean there", 1),
        (8_000, "But wait", 0),
        (8_000, "Yes, okay, right!", 0),
        (8_000, "Yes, okay, but no", 1),
    ],
    ids=["20 ms", "499 ms", "500 ms", "two words", "back-channels", "four words"],
)
def test_a_short_overlap_or_a_back_channel_is_not_an_interruption(start, text, count) -> None:
    values = metrics(call(("c", 5_000, 9_000, words(12)), ("a", start, 12_000, text)))
    assert values["interruptionsByAgent"] == count
    assert values["overtalkCount"] == 1


def test_starting_at_the_same_moment_is_no_interruption() -> None:
    values = metrics(call(("c", 0, 9_000, words(9)), ("a", 0, 9_000, words(9))))
    assert values["interruptionsByAgent"] == values["interruptionsByCustomer"] == 0


def test_pace_is_words_by_talk_time_and_null_under_30_words() -> None:
    transcript = call(("a", 0, 20_000, words(45)), ("c", 21_000, 30_000, words(29)))
    assert metrics(transcript)["agentWpm"] == 135
    assert metrics(transcript)["customerWpm"] is None
    assert "30 words" in missing(transcript)["customerWpm"]


def test_dead_air_is_an_unannounced_gap_of_10_seconds() -> None:
    transcript = call(
        ("a", 0, 1_000, "Let us start with your request."),
        ("c", 11_000, 12_000, "Are you there?"),
        ("a", 13_000, 14_000, "Yes. I will put you on hold for a moment."),
        ("c", 14_200, 14_800, "Sure."),
        ("a", 40_000, 41_000, "I am back."),
        ("c", 50_999, 52_000, "Good."),
    )
    values = metrics(transcript)
    assert values["deadAirCount"] == 1
    assert values["deadAirMs"] == 10_000
    assert values["holdMs"] == 25_200
    assert values["longestSilenceMs"] == 25_200


def test_a_bot_has_dead_air_from_5_seconds() -> None:
    transcript = call(("b", 0, 1_000, "What is the date?"), ("c", 6_000, 7_000, "Today."))
    assert metrics(transcript, BOT)["deadAirCount"] == 1


def test_the_longest_monologue_bridges_pauses_under_a_second_and_back_channels() -> None:
    transcript = call(
        ("a", 0, 5_000, words(9)),
        ("c", 3_000, 3_400, "Mhm."),
        ("a", 5_999, 9_000, words(9)),
        ("a", 10_000, 12_000, words(9)),
    )
    assert metrics(transcript)["longestMonologueMs"] == 9_000


def test_response_gaps_are_from_the_end_of_the_customers_turn() -> None:
    transcript = call(
        ("c", 0, 1_000, words(3)),
        ("c", 1_200, 2_000, words(3)),
        ("a", 2_600, 4_000, words(3)),
        ("c", 4_500, 6_000, words(3)),
        ("a", 5_800, 7_000, words(3)),
        ("c", 8_000, 9_000, words(3)),
        ("a", 10_000, 11_000, words(3)),
    )
    values = metrics(transcript)
    assert values["responseGapMsP50"] == 800
    assert values["responseGapMsP90"] == 960
    assert values["responseOverlapCount"] == 1


def test_the_response_gap_of_a_bot_is_its_latency() -> None:
    transcript = call(
        ("b", 0, 1_000, "Hello."),
        ("c", 1_500, 2_000, "Hi."),
        ("b", 3_200, 4_000, "What is it?"),
    )
    values = metrics(transcript, BOT)
    assert values["latencyMsP90"] == values["latencyMsMax"] == 1_200
    assert values["latencyMsCount"] == 1
    assert "responseGapMsP50" not in values


def test_fallback_rate_counts_the_bots_turns() -> None:
    transcript = call(
        ("b", 0, 1_000, "What is the date?"),
        ("c", 1_500, 2_000, "Blue."),
        ("b", 3_200, 4_000, "Sorry, I didn't catch that."),
    )
    assert metrics(transcript, BOT)["fallbackRate"] == 0.5
    assert metrics(transcript, BOT, fallback_count=0)["fallbackRate"] == 0


@pytest.mark.parametrize(
    ("known", "value"),
    [
        ({"completed": True, "transferred": False}, 1),
        ({"completed": True, "transferred": True}, 0),
        ({"completed": False, "transferred": False}, None),
        ({}, None),
    ],
)
def test_a_call_is_contained_when_it_is_completed_without_transfer(known, value) -> None:
    transcript = call(("b", 0, 1_000, "Hello there."), ("c", 1_500, 2_000, "Hi."))
    assert metrics(transcript, BOT, **known)["containment"] == value


def test_a_mixed_recording_has_silence_but_no_numbers_of_roles() -> None:
    transcript = call(
        ("u", 0, 4_000, words(20)), ("u", 16_000, 18_000, words(20)), speaker_attribution="none"
    )
    values, why = metrics(transcript), missing(transcript)
    assert values["silenceMs"] == 12_000
    assert values["deadAirCount"] == 1
    for name in ("agentTalkMs", "talkRatio", "interruptionsByAgent", "agentWpm", "turnCount"):
        assert values[name] is None
        assert why[name] == "It is not known who speaks when."


def test_roles_on_a_mixed_channel_are_not_believed() -> None:
    transcript = call(("a", 0, 4_000, words(20)), speaker_attribution="none")
    assert metrics(transcript)["agentTalkMs"] is None


def test_a_call_without_times_has_reasons_in_place_of_numbers() -> None:
    transcript = call(("a", None, None, "Hello there."), ("c", None, None, "Hi."))
    assert metrics(transcript)["silenceMs"] is None
    assert missing(transcript)["silenceMs"] == "The transcript has no times."


def test_announced_holds_are_not_guessed_in_another_language() -> None:
    transcript = call(
        ("a", 0, 1_000, "Un moment, je vous prie."),
        ("c", 20_000, 21_000, "Merci bien."),
        language="it",
    )
    assert metrics(transcript)["deadAirCount"] is None
    assert metrics(transcript)["longestSilenceMs"] == 19_000


def test_handling_includes_the_work_after_the_call() -> None:
    assert metrics(TALK, after_call_seconds=30)["handleSeconds"] == 50
