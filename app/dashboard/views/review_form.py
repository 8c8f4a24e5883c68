"""Form of a review, read into the document that the API's schema loads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.dashboard.views.formatting import whole_number
from app.dashboard.views.scored import ANSWER_PREFIX, NOT_APPLICABLE_CHOICE
from app.evaluations.enums import ReviewAction

ANSWER, REASON, QUOTE = "answer.", "reason.", "quote."
# Fields that the form has under the names of the API.
_TEXTS = ("action", "reason", "resolution")
# Fields of a rating that a review may set, besides its evidence.
_RATED = ("key", "applicable", "answer", "normalizedScore", "reason")


def review_of(typed: Mapping[str, str], *, reviewer: str, ref: str) -> dict[str, Any]:
    """Return the review that a form describes; empty fields are left out."""
    document: dict[str, Any] = {"reviewer": reviewer, "reviewerRef": ref}
    document.update({name: typed[name] for name in _TEXTS if typed.get(name, "").strip()})
    criteria = criteria_of(typed)
    if criteria:
        document["criteria"] = criteria
    if typed.get("confirmsOthers"):
        document["confirmsOthers"] = True
    reviews_seen = whole_number(typed.get("reviewsSeen", ""))
    if reviews_seen is not None:
        document["reviewsSeen"] = reviews_seen
    return document


def criteria_of(typed: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the ratings of a form: the criteria for which an answer was chosen."""
    return list(_ratings(typed))


def demanded_answers(reviews: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the ratings that the newest dispute demands, as a review gives them."""
    disputes = [review for review in reviews if review["action"] == ReviewAction.DISPUTE]
    return [_demanded(rating) for dispute in disputes[-1:] for rating in dispute["criteria"]]


def _demanded(rating: Mapping[str, Any]) -> dict[str, Any]:
    evidence = [
        {name: quoted[name] for name in ("segmentId", "charStart", "quote", "polarity")}
        for quoted in rating["evidence"]
    ]
    values = {name: rating[name] for name in _RATED if rating[name] is not None}
    return {**values, "evidence": evidence}


def _ratings(typed: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for name, choice in typed.items():
        if not name.startswith(ANSWER) or not choice:
            continue
        key = name.removeprefix(ANSWER)
        rating: dict[str, Any] = {"key": key}
        if choice == NOT_APPLICABLE_CHOICE:
            rating["applicable"] = False
        else:
            rating["answer"] = _answer(choice.removeprefix(ANSWER_PREFIX))
        if reason := typed.get(REASON + key, "").strip():
            rating["reason"] = reason
        if quote := typed.get(QUOTE + key, ""):
            rating["evidence"] = [_evidence(quote)]
        yield rating


def _answer(text: str) -> str | int:
    """Return an answer as scorecards have it: a number on a scale, else a text."""
    number = whole_number(text)
    return text if number is None else number


def _evidence(text: str) -> dict[str, Any]:
    """Read a quote of the form `seg_0003:12:the words`, with the place of its first character."""
    segment_id, _, rest = text.partition(":")
    place, _, quote = rest.partition(":")
    evidence: dict[str, Any] = {"segmentId": segment_id, "quote": quote}
    start = whole_number(place)
    return evidence if start is None else {**evidence, "charStart": start}
