"""Rules for criteria of an author's own: phrases that must or may not be said, and acts that are counted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import Mark
from app.judge.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence, sentence_around
from app.judge.dialogue.turns import SIDES, Line, Side
from app.judge.facts.conversation_facts import Facts, distinct, examined
from app.judge.facts.manner import EITHER, Manner
from app.judge.facts.metrics import NO_CUSTOMER
from app.judge.facts.phrases import Window
from app.judge.scorecard.schema import ANYONE, act_in_words
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, not_applicable, unjudged, yes_or_no
from app.judge.wording import in_quotes, listed, part, sentence, times

_MOST_MATCHES = 5


class Happening(NamedTuple):
    """One place where somebody does or says what a criterion counts."""

    line: Line
    start: int
    end: int

    @property
    def place(self) -> tuple[int, int]:
        return self.line.position, self.start


def required_phrases(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when each statement is made in one of its phrases, in their order if so asked.

    What is denied is not said, unless the criterion counts that too.
    """
    parameters = criterion.parameters
    window, reason = _window(facts, parameters)
    if reason is not None:
        return reason
    statements, manner = parameters["statements"], _manner(parameters, negated="never")
    matches, after = [], (-1, -1)
    for statement in statements:
        place = window.first_said(statement["anyOf"], after, manner)
        matches.append(place)
        if place is not None and parameters.get("inOrder", False):
            after = place.place
    pairs = list(zip(statements, matches, strict=True))
    missing = [statement for statement, place in pairs if place is None]
    reasons: dict[str, list[str]] = {"never": [], "denied": [], "early": []}
    for item in missing:
        reasons[_why_missing(window, item["anyOf"], manner)].append(in_quotes(item["title"]))
    matched = [place for place in matches if place is not None]
    evidence = [piece for place in matched for piece in place.evidence()]
    problems = [
        sentence(f"required_phrases.{reason}", titles=listed(titles))
        for reason, titles in reasons.items()
        if titles
    ]
    return yes_or_no(
        not missing,
        " ".join(problems) or sentence("required_phrases.complete"),
        confidence=facts.confidence(0.7 if missing else 0.95),
        evidence=distinct(evidence) or examined(_first_lines(window)),
    )


def _why_missing(window: Window, phrases: Sequence[str], manner: Manner) -> str:
    """Tell whether phrases that are missing are said too early, are denied, or are never said."""
    if window.first_said(phrases, manner=manner) is not None:
        return "early"
    if manner.negated == "never" and window.first_said(phrases, manner=Manner(manner.said)):
        return "denied"
    return "never"


def forbidden_phrases(facts: Facts, criterion: Criterion) -> Answer:
    """Answer no when one of the phrases is said."""
    parameters = criterion.parameters
    window, reason = _window(facts, parameters)
    if reason is not None:
        return reason
    matches = list(
        islice(window.said(parameters["anyOf"], manner=_manner(parameters)), _MOST_MATCHES)
    )
    if not matches:
        return yes_or_no(
            True,
            sentence("forbidden_phrases.none"),
            confidence=facts.confidence(0.9),
            evidence=examined(_first_lines(window), SUPPORTS),
        )
    if not facts.phrases.speaker_known(_by(parameters)):
        return unjudged(sentence("not_judged.phrase_by_unknown"))
    return yes_or_no(
        False,
        sentence("forbidden_phrases.found"),
        confidence=0.95,
        evidence=distinct(piece for place in matches for piece in place.evidence(CONTRADICTS)),
    )


def _window(facts: Facts, parameters: Mapping[str, Any]) -> tuple[Window, Answer | None]:
    """Return the turns to look in, and the answer where nothing can be told from them."""
    by, within = _by(parameters), parameters.get("within")
    window = facts.phrases.window(by, within)
    if within and not facts.dialogue.attributed:
        return window, unjudged(sentence("not_judged.turns_not_counted"))
    return window, None if window.turns else not_applicable(NO_CUSTOMER)


def _first_lines(window: Window) -> list[Line]:
    """Return the first line of each turn, of the lines that count."""
    lines = window.lines
    begins = {turn.lines[0].position for turn in window.turns}
    return [line for line in lines if line.position in begins] or lines


def _by(parameters: Mapping[str, Any]) -> str:
    return str(parameters.get("by", "agent"))


def act(facts: Facts, criterion: Criterion) -> Answer:
    """Count the acts and the phrases of the criterion, where and as it asks for them."""
    parameters = criterion.parameters
    window, reason = _window(facts, parameters)
    if reason is None and not facts.dialogue.attributed:
        reason = unjudged(sentence("not_judged.one_channel"))
    if reason is None and _reads_acts(parameters) and not facts.dialogue.readable:
        reason = unjudged(facts.dialogue.unread_reason)
    if reason is not None:
        return reason
    allowed = {line.position for line in window.lines}
    counted = [item for item in _happenings(facts, parameters) if item.line.position in allowed]
    for name, is_before in (("before", True), ("after", False)):
        if name in parameters:
            anchors = list(_happenings(facts, parameters[name], ANYONE))
            if not anchors:
                return not_applicable(sentence("act.no_anchor", what=_told(parameters[name])))
            counted = list(_near(facts, counted, anchors, parameters[name], is_before=is_before))
    return _counted(facts, parameters, counted, window)


def _counted(
    facts: Facts, parameters: Mapping[str, Any], counted: Sequence[Happening], window: Window
) -> Answer:
    least = parameters.get("atLeast", 0 if "atMost" in parameters else 1)
    most = parameters.get("atMost")
    enough = len(counted) >= least
    fulfilled = enough and (most is None or len(counted) <= most)
    polarity = SUPPORTS if fulfilled and most is None else CONTRADICTS
    shown = (_quote(item, polarity) for item in counted[:_MOST_MATCHES])
    wanted = [part("act.at_least", times=times(least))] if least else []
    wanted += [part("act.at_most", times=times(most))] if most else []
    wanted += [part("act.not_at_all")] if most == 0 else []
    return yes_or_no(
        fulfilled,
        sentence(
            "act.counted" if counted else "act.never",
            what=_told(parameters),
            times=times(len(counted)),
            wanted=listed(wanted),
        ),
        confidence=0.75 if fulfilled == bool(counted) else 0.65,
        evidence=distinct(shown) or examined(_first_lines(window), SUPPORTS),
    )


def _happenings(facts: Facts, asked: Mapping[str, Any], by: str = "agent") -> Iterator[Happening]:
    """Yield in order where the acts are performed; with phrases, where these are said in doing so.

    Of these, only those in lines that are like the examples, where there are some.
    """
    by = str(asked.get("by", by))
    happenings = _performed(facts, asked, by)
    if "like" not in asked:
        yield from happenings
        return
    for item in happenings:
        customer = item.line.side is Side.CUSTOMER
        examples = asked["like"], asked.get("unlike", ())
        if facts.likeness.is_like(item.line.text, *examples, by_customer=customer):
            yield item


def _performed(facts: Facts, asked: Mapping[str, Any], by: str) -> Iterator[Happening]:
    acts, phrases = tuple(map(Act, asked.get("acts", ()))), asked.get("anyOf", ())
    said = facts.phrases.window(by).said(phrases, manner=_manner(asked)) if phrases else ()
    matches = [Happening(*match.in_line()) for match in said]
    if not acts and not phrases:
        lines = facts.phrases.window(by).lines
        matches = [Happening(line, 0, len(line.text)) for line in lines]
    if not acts:
        yield from matches
        return
    side = None if by == ANYONE else SIDES[by]
    for line in facts.acts.lines:
        mark = line.best(*acts) if line.shows(*acts) else None
        if mark is None or (side is not None and line.line.side is not side):
            continue
        if phrases:
            yield from (match for match in matches if match.line is line.line)
        elif _is_done_so(line.line, mark, _manner(asked)):
            yield Happening(line.line, mark.start, mark.end)


def _is_done_so(line: Line, mark: Mark, manner: Manner) -> bool:
    # Which sentence shows the act is less certain than that the line does: any question of it will do.
    start, end = (0, len(line.text)) if manner.said == "question" else (mark.start, mark.end)
    return manner.allows(line, start, end)


def _near(
    facts: Facts,
    counted: Iterable[Happening],
    anchors: Sequence[Happening],
    asked: Mapping[str, Any],
    *,
    is_before: bool,
) -> Iterator[Happening]:
    """Yield what happens before the first anchor, or after one; `turns` says how far from it at most."""
    turn_of = {
        line.position: number
        for number, turn in enumerate(facts.dialogue.turns)
        for line in turn.lines
    }
    reach = asked.get("turns", len(turn_of))
    for item in counted:
        turn = turn_of[item.line.position]
        if any(
            (item.place < anchor.place) == is_before
            and item.place != anchor.place
            and abs(turn - turn_of[anchor.line.position]) <= reach
            for anchor in (anchors[:1] if is_before else anchors)
        ):
            yield item


def _told(asked: Mapping[str, Any]) -> str:
    """Name what is counted in words."""
    acts = [act_in_words(name) for name in asked.get("acts", ())]
    phrases = [in_quotes(phrase) for phrase in asked.get("anyOf", ())[:_MOST_MATCHES]]
    alike = [f"lines like {in_quotes(asked['like'][0])}"] if "like" in asked else []
    parts = [listed(texts, "or") for texts in (acts, phrases, alike) if texts]
    return " with ".join(parts)


def _reads_acts(parameters: Mapping[str, Any]) -> bool:
    return any("acts" in parameters.get(name, {}) for name in ("before", "after")) or (
        "acts" in parameters
    )


def _quote(item: Happening, polarity: str) -> Evidence:
    return sentence_around(item.line.segment, item.start, item.end, polarity)


def _manner(parameters: Mapping[str, Any], *, negated: str = EITHER) -> Manner:
    """Return the manner that a criterion asks for; `negated` counts where it leaves that out."""
    return Manner(parameters.get("said", EITHER), parameters.get("negated", negated))
