"""Catalogue of the rules: each with its label, what it answers, what it needs, and its parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, auto
from functools import partial
from typing import Any

from app.judge.facts.conversation_facts import Facts
from app.judge.rules import closing, communication, compliance, custom, metrics, opening, request
from app.judge.scorecard import parameters as of
from app.judge.scorecard.parameters import Parameter
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer


class Needs(Flag):
    """Needs of a rule: words of a known language, known roles, times of speech or of messages."""

    NOTHING = 0
    WORDS = auto()
    ROLES = auto()
    SPEECH = auto()
    MESSAGES = auto()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: `answers` is the type of its criteria; of its parameters, the `required` ones must be given."""

    answers: str
    label: str
    judge: Callable[[Facts, Criterion], Answer]
    needs: Needs
    required: tuple[Parameter, ...]
    optional: tuple[Parameter, ...] = ()
    one_of: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.required, *self.optional)

    def fits(self, channel: str) -> bool:
        """Tell whether conversations of a channel have what the rule needs."""
        return (Needs.MESSAGES if channel != "chat" else Needs.SPEECH) not in self.needs


_AGENT_WORDS = Needs.WORDS | Needs.ROLES
_AGENT_SPEECH = Needs.SPEECH | Needs.ROLES
_AGENT_MESSAGES = Needs.MESSAGES | Needs.ROLES
_MANNER = (of.SAID_BY, of.WITHIN, of.SAID_AS, of.COUNTS)


def _rule(
    answers: str,
    label: str,
    judge: Callable[[Facts, Criterion], Answer],
    needs: Needs,
    *required: Parameter,
    **more: Any,
) -> Rule:
    return Rule(answers, label, judge, needs, required, **more)


_binary, _scale, _metric = (partial(_rule, answers) for answers in ("binary", "scale", "metric"))

# The last four are for criteria of an author's own.
RULES: dict[str, Rule] = {
    "abuse": _scale("No abuse by the agent", communication.abuse, _AGENT_WORDS),
    "bot_identity": _binary(
        "The bot says who it is",
        opening.bot_identity,
        _AGENT_WORDS,
        of.agent_turns(2),
        of.flag(
            "automationDisclosureRequired", "The bot must say that it is automated", default=False
        ),
    ),
    "clarity": _scale("Clear wording", communication.clarity, _AGENT_WORDS),
    "clean_close": _binary(
        "The bot closes the call", closing.clean_close, _AGENT_WORDS, of.last_turns(3)
    ),
    "completeness": _scale("Every request is dealt with", request.completeness, _AGENT_WORDS),
    "conduct": _binary("No mockery, threats or pressure", communication.conduct, _AGENT_WORDS),
    "courtesy": _scale("Courteous wording", communication.courtesy, _AGENT_WORDS),
    "data_handling": _binary(
        "No card numbers, PINs or codes are asked for",
        compliance.data_handling,
        Needs.WORDS,
        of.whole("minWords", "Words at least", default=20),
    ),
    "misleading_claims": _binary(
        "Claims that may not be made",
        compliance.misleading_claims,
        Needs.NOTHING,
        of.statements("claims", "Claims", low=1),
    ),
    "third_party": _binary(
        "No personal details for other people", compliance.third_party, _AGENT_WORDS
    ),
    "dead_air": _metric("No long silence", metrics.dead_air, Needs.SPEECH, of.MAX_DEAD_AIR),
    "disclosure": _binary(
        "Required statements",
        compliance.disclosure,
        Needs.NOTHING,
        of.statements("requiredStatements", "Required statements"),
    ),
    "empathy": _scale(
        "Problems and feelings are acknowledged", communication.empathy, _AGENT_WORDS
    ),
    "first_response": _metric(
        "Time to the first response", metrics.first_response, _AGENT_MESSAGES, *of.seconds(60, 180)
    ),
    "gaps": _metric("Time between replies", metrics.gaps, _AGENT_MESSAGES, *of.seconds(120, 300)),
    "greeting": _binary(
        "Greeting in the first turns",
        opening.greeting,
        _AGENT_WORDS,
        of.agent_turns(2),
        of.REQUIRES,
    ),
    "handoff": _binary("A person is offered when asked for", closing.handoff, _AGENT_WORDS),
    "hold_silence": _metric(
        "Holds are announced", metrics.hold_silence, Needs.SPEECH, of.MAX_DEAD_AIR
    ),
    "latency": _metric(
        "Time until the bot answers",
        metrics.latency,
        _AGENT_SPEECH,
        of.whole("fullMs", "Full score within, in ms", default=1500),
        of.whole("halfMs", "Half the score within, in ms", default=3000),
    ),
    "listening": _scale(
        "The customer need not repeat the request", request.listening, _AGENT_WORDS
    ),
    "no_repetition": _scale(
        "The bot asks nothing twice",
        communication.no_repetition,
        _AGENT_WORDS,
        of.whole("maxFallbacks", "Replies without understanding at most", default=1),
        of.whole("maxRepeatedQuestions", "Repeated questions at most", default=0),
    ),
    "opt_out": _binary("Opt-outs are respected", closing.opt_out, _AGENT_WORDS),
    "pace": _metric(
        "Speed of speech, and interruptions",
        metrics.pace,
        _AGENT_SPEECH,
        of.amount("minWpm", "Words a minute at least", default=110),
        of.amount("maxWpm", "Words a minute at most", default=180),
        of.amount("interruptionsPer10MinBelow", "Interruptions in ten minutes below", default=2),
        of.whole("minSpeechMs", "Speech at least, in ms", default=60000),
    ),
    "probing": _scale("Questions come before a proposal", request.probing, _AGENT_WORDS),
    "purpose": _binary(
        "The purpose is said in the first turns", opening.purpose, _AGENT_WORDS, of.agent_turns(3)
    ),
    "recap": _scale(
        "Recap, next step and an offer of more help",
        closing.recap,
        Needs.WORDS,
        of.last_turns(8),
        of.whole("fullElements", "Elements for the full score", default=2),
        of.whole("halfElements", "Elements for half the score", default=1),
    ),
    "resolution_confirmed": _binary(
        "The customer confirms the solution",
        closing.resolution_confirmed,
        Needs.WORDS,
        of.last_turns(12),
    ),
    "respect": _scale("Respectful wording", communication.courtesy, _AGENT_WORDS),
    "turn_taking": _metric(
        "The bot does not talk over the customer",
        metrics.turn_taking,
        _AGENT_SPEECH,
        of.amount("maxPer5Min", "Overlaps in five minutes at most", default=1),
        of.whole("stopsWithinMs", "Stops talking within, in ms", default=2000),
    ),
    "understanding": _scale("The request is understood", request.understanding, _AGENT_WORDS),
    "verification": _binary("The customer is verified first", opening.verification, _AGENT_WORDS),
    "required_phrases": _binary(
        "Phrases that must be said",
        custom.required_phrases,
        Needs.NOTHING,
        of.statements("statements", "Statements", low=1),
        optional=(*_MANNER, of.flag("inOrder", "In this order")),
    ),
    "forbidden_phrases": _binary(
        "Phrases that may not be said",
        custom.forbidden_phrases,
        Needs.NOTHING,
        of.ANY_OF,
        optional=_MANNER,
    ),
    "act": _binary(
        "Something that somebody does or says, counted",
        custom.act,
        Needs.NOTHING,
        optional=(
            of.ACTS_DONE,
            of.ANY_OF,
            of.LIKE,
            of.UNLIKE,
            of.SAID_BY,
            of.SAID_AS,
            of.COUNTS,
            of.WITHIN,
            of.anchor("before", "Before"),
            of.anchor("after", "After"),
            of.turns("atLeast", "Times at least"),
            of.whole("atMost", "Times at most", high=1000),
        ),
        one_of=("acts", "anyOf", "like"),
    ),
    "metric_range": _metric(
        "A metric within a range",
        metrics.metric_range,
        Needs.NOTHING,
        of.METRIC,
        of.bounds("full", "Full score"),
        optional=(of.bounds("half", "Half the score"),),
    ),
}
# All parameters by name; those of the same name are the same in every rule, but for the default.
PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter for rule in RULES.values() for parameter in rule.parameters
}
