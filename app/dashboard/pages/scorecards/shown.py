"""Scorecards as they are: their list and use, one version in words, and two versions compared."""

from datetime import datetime

from flask import render_template, request
from werkzeug.wrappers import Response

from app.campaigns import service as campaigns
from app.campaigns.service import CAMPAIGNS
from app.core.database.paging import PageRequest
from app.core.errors import InvalidInput
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages.audited import audited
from app.dashboard.queries import PageFilters, filters_of_request
from app.dashboard.views.scorecards.described import described_sections, version_changes
from app.evaluations import listing
from app.people import service as people
from app.people.audit import Action
from app.scorecards import authoring, default_scorecards, drafts, releases, service
from app.scorecards.enums import MOST_DAYS, ReleaseRule
from app.scorecards.schemas.scorecards import ReleaseBody, VersionQuery
from app.web.current import current_runtime
from app.web.schemas.base import CamelSchema
from app.web.schemas.query_fields import QueryWhole

blp = PageBlueprint("scorecards", __name__, scope="scorecards:manage")

_ALL = PageRequest(page_size=authoring.MOST_SCORECARDS + len(default_scorecards.IDS), sort="name")
_MOST_SHOWN = 100
_MOST_CAMPAIGNS = 300


class VersionComparison(CamelSchema):
    before = QueryWhole(low=1, high=1_000_000, required=True)
    after = QueryWhole(low=1, high=1_000_000, required=True)


class ReleaseForm(ReleaseBody):
    """The rule of a release, whose days are a text."""

    days = QueryWhole(low=1, high=MOST_DAYS)


@blp.get("/scorecards")
def list_page() -> str:
    """List the scorecards, and how many conversations of the period each one has judged."""
    page_filters = filters_of_request()
    with current_runtime().db.reading() as session:
        scorecards = service.list_page(session, _ALL).items
        counts = listing.count_by_scorecard(session, **_period(page_filters))
        open_drafts = drafts.list_all(session)
        editors = people.display_names(session, {draft.updated_by for draft in open_drafts})
        campaign_names = CAMPAIGNS.choices(session, limit=_MOST_CAMPAIGNS)
    return render_template(
        "scorecards/list.html",
        page_filters=page_filters,
        scorecards=scorecards,
        counts={
            scorecard_id: sum(by_version.values()) for scorecard_id, by_version in counts.items()
        },
        drafts=open_drafts,
        campaigns=campaign_names,
        editors=editors,
    )


@blp.get("/scorecards/<id:scorecard_id>")
def show(scorecard_id: str) -> str:
    """Show one version in words, the campaigns that use it, and how often each version judged."""
    page_filters = filters_of_request()
    query = forms.load(VersionQuery(), request.args)
    newest_first = PageRequest(page_size=_MOST_SHOWN)
    with current_runtime().db.reading() as session:
        scorecard = service.get(session, scorecard_id, **query)
        versions = service.list_versions(session, scorecard_id, newest_first)
        counts = listing.count_by_scorecard(
            session, scorecard_id=scorecard_id, **_period(page_filters)
        )
        release = releases.show(session, scorecard_id)
        used_by = campaigns.names_with_scorecard(session, scorecard_id, scorecard["channel"])
        choices = {**used_by, **CAMPAIGNS.choices(session, limit=_MOST_CAMPAIGNS)}
    return render_template(
        "scorecards/show.html",
        page_filters=page_filters,
        counts=counts.get(scorecard_id, {}),
        scorecard=scorecard,
        sections=described_sections(scorecard["definition"]),
        versions=versions,
        campaigns=used_by,
        choices=choices,
        release=release,
        release_rules=ReleaseRule.labels(),
    )


@blp.post("/scorecards/<id:scorecard_id>/use")
def use(scorecard_id: str) -> Response:
    """Use a scorecard for its whole channel, for some campaigns, or not at all yet."""
    chosen, campaign_ids = request.form.get("use"), set(request.form.getlist("campaign"))
    if chosen not in ("all", "campaigns", "none"):
        raise InvalidInput.field("use", "Choose what the scorecard is used for.", location="form")
    with audited(Action.SCORECARD_USED, scorecard_id) as session:
        scorecard = service.get(session, scorecard_id)
        channel = scorecard["channel"]
        if chosen == "all":
            service.set_defaults(session, {channel: scorecard_id})
        else:
            if scorecard["judges_by_default"]:
                service.set_defaults(session, {channel: None})
            named = campaign_ids if chosen == "campaigns" else set()
            campaigns.use_scorecard(session, scorecard_id, channel, named)
    return forms.redirect_with("scorecard-used", "scorecards.show", scorecard_id=scorecard_id)


@blp.post("/scorecards/<id:scorecard_id>/release")
@forms.shown_again(show)
def change_release(scorecard_id: str) -> Response:
    """Set when agents see what the scorecard has judged."""
    days = {} if request.form.get("rule") == ReleaseRule.AFTER_DAYS else {"days": ""}
    values = forms.load(ReleaseForm(), {**request.form, **days})
    with audited(Action.SCORECARD_RELEASED, scorecard_id) as session:
        releases.change(session, scorecard_id, values)
    return forms.redirect_with("release-saved", "scorecards.show", scorecard_id=scorecard_id)


@blp.get("/scorecards/<id:scorecard_id>/compare")
def compare(scorecard_id: str) -> str:
    """Show what differs between two versions."""
    versions = forms.load(VersionComparison(), request.args)
    with current_runtime().db.reading() as session:
        before, after = (
            service.get(session, scorecard_id, version=versions[name])
            for name in ("before", "after")
        )
    return render_template(
        "scorecards/compare.html",
        before=before,
        after=after,
        changes=version_changes(before["definition"], after["definition"]),
    )


def _period(page_filters: PageFilters) -> dict[str, datetime]:
    bounds = {"start": page_filters.period.start, "end": page_filters.period.end}
    return {name: moment for name, moment in bounds.items() if moment is not None}
