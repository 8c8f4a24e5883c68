"""The embedded engine's judgement of a criterion: applicability first, then its rule."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Flag, auto

from app.ai.dialogue.evidence import SUPPORTS
from app.ai.dialogue.turns import Line
from app.ai.facts.conversation_facts import Facts, examined
from app.ai.facts.measures import NO_SERVICE, NO_TIMES
from app.ai.facts.timing import words_of
from app.ai.rules import (
    applicability,
    closing,
    communication,
    completeness,
    compliance,
    custom_criteria,
    discovery,
    opening,
    timing,
)
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, judged, needs_model, not_applicable, unjudged
from app.ai.wording.sentences import part, sentence
from app.ai.wording.words import listed, times

# Confidence lost where all words were read with an unmeasured lexicon.
_FIRST_LEXICON_DOUBT = 0.3
_SURE_LANGUAGE = 0.5
_SENTENCE = re.compile(r"[^.!?]{1,400}\?")


class Needs(Flag):
    """What a rule can't do without: words of a known language, known roles, times of speech."""

    NOTHING = 0
    WORDS = auto()
    ROLES = auto()
    TIMES = auto()


@dataclass(frozen=True, slots=True)
class Rule:
    judge: Callable[[Facts, Criterion], Answer]
    needs: Needs


def answer(facts: Facts, criterion: Criterion) -> Answer:
    """Judge one criterion, or say why the embedded engine doesn't.

    Where speakers are unknown, only rules about the whole conversation are applied.
    """
    unmet = applicability.unmet(facts, criterion)
    if unmet is not None:
        return unmet
    if criterion.rule is None:
        return needs_model()
    rule = RULES[criterion.rule]
    by = "metric" if criterion.methods[0] == "metric" else "rule"
    if Needs.ROLES in rule.needs and not facts.dialogue.attributed:
        return unjudged(sentence("not_judged.one_channel"), by=by)
    if facts.dialogue.attributed and not facts.dialogue.service:
        return not_applicable(NO_SERVICE, by=by)
    if Needs.WORDS in rule.needs and not facts.dialogue.readable:
        return unjudged(facts.dialogue.unread_reason, by=by)
    if Needs.TIMES in rule.needs and not facts.timing.spoken:
        return not_applicable(NO_TIMES, by=by)
    answer = rule.judge(facts, criterion)
    return _hedged(facts, answer) if Needs.WORDS in rule.needs else answer


def _hedged(facts: Facts, answer: Answer) -> Answer:
    # Phrases that nobody has measured yet, and a language that is only guessed, weigh less.
    dialogue, confidence, notes = facts.dialogue, answer.confidence, []
    if confidence is None:
        return answer
    lexicons = dialogue.unmeasured_lexicons
    if lexicons:
        confidence *= 1 - _FIRST_LEXICON_DOUBT * sum(
            dialogue.language_shares[lexicon.language] for lexicon in lexicons
        )
        names = listed([lexicon.name for lexicon in lexicons])
        notes.append(sentence("not_judged.first_word_list", languages=names))
    if dialogue.language_confidence < _SURE_LANGUAGE:
        confidence *= dialogue.language_confidence / _SURE_LANGUAGE
        notes.append(sentence("not_judged.guessed_language"))
    if not notes:
        return answer
    return replace(answer, note=" ".join(notes), confidence=round(confidence, 4))


def no_repetition(facts: Facts, criterion: Criterion) -> Answer:
    """Count the bot's fallbacks and the questions that it asks twice in the same words."""
    fallbacks = facts.said("fallback")
    count = facts.context.fallback_count
    if count is None:
        count = len({cue.line.position for cue in fallbacks})
    repeated = _repeated_questions(facts)
    parameters = criterion.parameters
    fulfilled = (
        count <= parameters["maxFallbacks"] and len(repeated) <= parameters["maxRepeatedQuestions"]
    )
    missed = [cue.line for cue in fallbacks] + repeated
    return judged(
        2 if fulfilled else 0,
        float(fulfilled),
        _repetition_told(facts, count, len(repeated)),
        confidence=0.6 if fulfilled else 0.75,
        by="metric",
        evidence=examined(missed)
        if not fulfilled
        else examined((line for line in facts.dialogue.service if "?" in line.text), SUPPORTS),
    )


def _repetition_told(facts: Facts, fallbacks: int, repeats: int) -> str:
    if not fallbacks and not repeats:
        return facts.sentence("no_repetition.clean")
    fallbacks_told = "no_repetition.fallbacks" if fallbacks else "no_repetition.no_fallbacks"
    repeats_told = "no_repetition.repeats" if repeats else "no_repetition.no_repeats"
    return facts.sentence(
        "no_repetition.found",
        fallbacks=part(fallbacks_told, times=times(fallbacks)),
        repeats=part(repeats_told, times=times(repeats)),
    )


def _repeated_questions(facts: Facts) -> list[Line]:
    # Offering help again is no repetition.
    polite = {cue.line.position for cue in facts.said("offer_help", "purpose")}
    asked_before: set[tuple[str, ...]] = set()
    repeated = []
    for line in facts.dialogue.service:
        for question in _SENTENCE.findall(line.text):
            words = tuple(words_of(question))
            if words in asked_before and line.position not in polite and len(words) > 2:
                repeated.append(line)
            asked_before.add(words)
    return repeated


_AGENT_WORDS = Needs.WORDS | Needs.ROLES
_AGENT_TIMES = Needs.TIMES | Needs.ROLES

RULES: dict[str, Rule] = {
    "abuse": Rule(communication.abuse, _AGENT_WORDS),
    "bot_identity": Rule(opening.bot_identity, _AGENT_WORDS),
    "clean_close": Rule(closing.clean_close, _AGENT_WORDS),
    "data_handling": Rule(compliance.data_handling, Needs.WORDS),
    "dead_air": Rule(timing.dead_air, Needs.TIMES),
    "disclosure": Rule(compliance.disclosure, Needs.NOTHING),
    "first_response": Rule(timing.first_response, Needs.ROLES),
    "gaps": Rule(timing.gaps, Needs.ROLES),
    "greeting": Rule(opening.greeting, _AGENT_WORDS),
    "handoff": Rule(closing.handoff, _AGENT_WORDS),
    "hold_silence": Rule(timing.hold_silence, Needs.TIMES),
    "latency": Rule(timing.latency, _AGENT_TIMES),
    "no_repetition": Rule(no_repetition, _AGENT_WORDS),
    "opt_out": Rule(closing.opt_out, _AGENT_WORDS),
    "pace": Rule(timing.pace, _AGENT_TIMES),
    "purpose": Rule(opening.purpose, _AGENT_WORDS),
    "recap": Rule(closing.recap, Needs.WORDS),
    "resolution_confirmed": Rule(closing.resolution_confirmed, Needs.WORDS),
    "third_party": Rule(compliance.third_party, _AGENT_WORDS),
    "turn_taking": Rule(timing.turn_taking, _AGENT_TIMES),
    "clarity": Rule(communication.clarity, _AGENT_WORDS),
    "completeness": Rule(completeness.completeness, _AGENT_WORDS),
    "courtesy": Rule(communication.courtesy, _AGENT_WORDS),
    "empathy": Rule(communication.empathy, _AGENT_WORDS),
    "listening": Rule(discovery.listening, _AGENT_WORDS),
    "probing": Rule(discovery.probing, _AGENT_WORDS),
    "respect": Rule(communication.courtesy, _AGENT_WORDS),
    "understanding": Rule(discovery.understanding, _AGENT_WORDS),
    "forbidden_phrases": Rule(custom_criteria.forbidden_phrases, Needs.NOTHING),
    "metric_range": Rule(custom_criteria.metric_range, Needs.NOTHING),
    "required_phrases": Rule(custom_criteria.required_phrases, Needs.NOTHING),
    "verification": Rule(opening.verification, _AGENT_WORDS),
}
