"""Calibration rounds: several people rate the same conversations blind, then compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import redirect, render_template, request, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages.reviews import agreement as agreement_views
from app.dashboard.queries import listed
from app.dashboard.views.formatting import MISSING
from app.dashboard.views.scored import NOT_APPLICABLE, answer_text
from app.evaluations.schemas.evaluations import MOST_IDS
from app.people import service as people
from app.people.gate import current_person
from app.reviews import rounds
from app.reviews.schemas.agreement import CalibrationRoundCreate, CalibrationRoundQuery
from app.web.current import current_runtime

blp = PageBlueprint(
    "calibration", __name__, url_prefix="/review/calibration", scope="evaluations:review"
)
_RATED = "rated"


@dataclass(frozen=True, slots=True)
class RoundRow:
    """One conversation of a round.

    Attributes:
        evaluation: the row of the list; None where it is not kept any more.
        cells: a text for each person: a score, or whether they have rated it.
        spread: the distance between the highest and the lowest score of people.
        is_to_rate: whether the signed-in person has yet to rate it.
    """

    evaluation_id: str
    evaluation: Mapping[str, Any] | None
    cells: Sequence[str]
    judge: str
    spread: str
    is_to_rate: bool


@dataclass(frozen=True, slots=True)
class RoundDifference:
    """A criterion that people have answered differently: a text for each, and the judge's answer."""

    title: str
    evaluation_id: str
    cells: Sequence[str]
    judge: str


@blp.get("")
def list_page() -> str:
    """List the rounds, the newest first."""
    query = forms.load(CalibrationRoundQuery(), {"page": request.args.get("page", "1")})
    with current_runtime().db.reading() as session:
        page = rounds.list_page(session, query["page_request"])
        names = _names(session, page.items)
    return render_template("reviews/rounds.html", page=page, names=names)


@blp.get("/new")
def form() -> str:
    """Show the form of a new round with the conversations that were marked."""
    return _form(request.args.get("ids", ""))


@blp.post("/new")
@forms.shown_again(lambda: _form(request.form.get("ids", ""), is_typed=True))
def create() -> Response:
    """Create a round and show it."""
    body = {
        "name": request.form.get("name", ""),
        "evaluationIds": [*filter(None, request.form.get("ids", "").split(","))],
        "reviewers": request.form.getlist("reviewers"),
    }
    values = forms.load(CalibrationRoundCreate(), body)
    with current_runtime().db.writing() as session:
        created = rounds.create(session, **values, created_by=current_person().user_id)
    return redirect(url_for(".show", round_id=created["id"]), 303)


@blp.get("/<id:round_id>")
def show(round_id: str) -> str:
    """Show a round; its people see answers and scores once they have rated everything."""
    with current_runtime().db.reading() as session:
        calibration_round = rounds.show(session, round_id)
        query = {"ids": ",".join(calibration_round["evaluation_ids"]), "current": "false"}
        page = listed(session, {**query, "pageSize": str(MOST_IDS)})
        names = _names(session, [calibration_round])
    user_id = current_person().user_id
    unrated = (
        rounds.left_to_rate(calibration_round, user_id)
        if user_id in calibration_round["reviewers"]
        else []
    )
    return render_template(
        "reviews/round.html",
        calibration_round=calibration_round,
        names=names,
        unrated=unrated,
        rows=_rows_of(calibration_round, {row["id"]: row for row in page.items}, unrated),
        differences=[] if unrated else _differences_of(calibration_round),
        criteria=[] if unrated else agreement_views.agreement_rows(calibration_round["agreement"]),
    )


def _form(ids: str, *, is_typed: bool = False) -> str:
    """Render the form; before anything is typed, the signed-in person is one of the reviewers."""
    own_id = current_person().user_id
    with current_runtime().db.reading() as session:
        reviewers = people.list_reviewers(session)
    return render_template(
        "reviews/new_round.html",
        ids=ids,
        count=len(set(filter(None, ids.split(",")))),
        reviewers=reviewers,
        name=request.form.get("name", ""),
        chosen=request.form.getlist("reviewers") if is_typed else [own_id],
    )


def _names(session: Session, all_rounds: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Map the references of people to their names; one of no account stays as it is."""
    references = {reviewer for row in all_rounds for reviewer in row["reviewers"]}
    return {
        **{reference: reference for reference in references},
        **people.display_names(session, references),
    }


def _rows_of(
    calibration_round: Mapping[str, Any],
    evaluations: Mapping[str, Mapping[str, Any]],
    unrated: Sequence[str],
) -> list[RoundRow]:
    """Return a row for each conversation; while any is unrated, no score is in them."""
    ratings = {
        (rating["evaluation_id"], rating["reviewer"]): rating
        for rating in calibration_round["ratings"]
    }
    rows = []
    for evaluation_id in calibration_round["evaluation_ids"]:
        cells = [
            ratings.get((evaluation_id, reviewer)) for reviewer in calibration_round["reviewers"]
        ]
        scores = [rating["score"] for rating in cells if rating and rating["score"] is not None]
        judge = next((rating["judge_score"] for rating in cells if rating), None)
        rows.append(
            RoundRow(
                evaluation_id=evaluation_id,
                evaluation=evaluations.get(evaluation_id),
                cells=[_cell(rating, is_blind=bool(unrated)) for rating in cells],
                judge=MISSING if unrated or judge is None else f"{judge:g}",
                spread=MISSING if unrated or len(scores) < 2 else f"{max(scores) - min(scores):g}",
                is_to_rate=evaluation_id in unrated,
            )
        )
    return rows


def _differences_of(calibration_round: Mapping[str, Any]) -> list[RoundDifference]:
    differences = []
    for difference in calibration_round["differences"]:
        answers = {answer["reviewer"]: _answer(answer) for answer in difference["answers"]}
        cells = [answers.get(reviewer, MISSING) for reviewer in calibration_round["reviewers"]]
        judge = _answer(difference["judge"])
        differences.append(
            RoundDifference(difference["title"], difference["evaluation_id"], cells, judge)
        )
    return differences


def _cell(rating: Mapping[str, Any] | None, *, is_blind: bool) -> str:
    if rating is None:
        return MISSING
    return _RATED if is_blind or rating["score"] is None else f"{rating['score']:g}"


def _answer(answer: Mapping[str, Any]) -> str:
    if not answer["applicable"]:
        return NOT_APPLICABLE
    return answer_text({**answer, "normalizedScore": answer["normalized_score"]})
