"""Campaigns as a form: the name, the targets, and the scorecard that judges each channel."""

from collections.abc import Mapping
from typing import Any

from flask import redirect, render_template, request, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.campaigns import merging, service
from app.campaigns.enums import CHANNELS
from app.campaigns.schemas import CampaignMergeCreate, CampaignQuery
from app.core.database.paging import PageRequest
from app.core.database.session import after_commit
from app.core.errors import InvalidInput
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages.audited import audited, record
from app.evaluations import campaign_changes
from app.people.audit import Action
from app.scorecards import authoring, default_scorecards
from app.scorecards import service as scorecards
from app.scorecards.schemas.scorecards import ScorecardsByChannel
from app.web.current import current_runtime
from app.web.schemas.fields import Text
from app.web.schemas.query_fields import QueryNumber, QueryWhole

blp = PageBlueprint("campaigns", __name__, scope="scorecards:manage")

_ALL = PageRequest(page_size=authoring.MOST_SCORECARDS + len(default_scorecards.IDS), sort="name")
_OFFERED = PageRequest(page_size=50, sort="name")


class CampaignForm(ScorecardsByChannel):
    """The form of a campaign; an empty target means no target, an empty scorecard the default."""

    name = Text(200, low=1, required=True)
    score = QueryWhole(high=100, load_default=None)
    evaluations = QueryWhole(load_default=None)
    percent = QueryNumber(low=0, high=100, load_default=None)


@blp.get("/campaigns/<id:campaign_id>")
def show(campaign_id: str) -> str | Response:
    """Show the form of a campaign; a merged one leads to that which it is part of now."""
    with current_runtime().db.reading() as session:
        if into_id := service.into_ids(session, [campaign_id]).get(campaign_id):
            return redirect(url_for(".show", campaign_id=into_id), 303)
    return _page(campaign_id)


def _page(campaign_id: str) -> str:
    with current_runtime().db.reading() as session:
        campaign = service.get(session, campaign_id)
        rate = campaign["targets"]["pass_rate"]
        stored = {
            "name": campaign["name"],
            "score": campaign["targets"]["score"],
            "evaluations": campaign["targets"]["evaluations"],
            "percent": None if rate is None else f"{100 * rate:g}",
            **_scorecards_of(session, campaign),
        }
        return render_template(
            "scorecards/campaign.html",
            campaign=campaign,
            others=_others(session, campaign),
            still_to_move=campaign_changes.still_to_move(session, campaign_id),
            namesakes=service.namesakes(session, campaign_id, campaign["name"]),
            choices=_choices(session),
            typed={**stored, **request.form},
        )


@blp.post("/campaigns/<id:campaign_id>")
@forms.shown_again(_page, inside="scorecardIds")
def change(campaign_id: str) -> Response:
    """Save the form of a campaign; a scorecard that stays as it is stays with who has named it."""
    typed = forms.load(CampaignForm(), request.form)
    percent = typed.pop("percent")
    targets = {
        "score": typed.pop("score"),
        "evaluations": typed.pop("evaluations"),
        "pass_rate": None if percent is None else round(percent / 100, 4),
    }
    with audited(Action.CAMPAIGN_CHANGED, campaign_id) as session:
        before = _scorecards_of(session, service.get(session, campaign_id))
        chosen = {
            channel: typed.get(channel)
            for channel in CHANNELS
            if typed.get(channel) != before[channel]
        }
        changes = {"name": typed["name"], "targets": targets, "scorecard_ids": chosen}
        service.change(session, campaign_id, changes)
    return forms.redirect_with("campaign-changed", "campaigns.show", campaign_id=campaign_id)


@blp.post("/campaigns/<id:campaign_id>/merge")
@forms.shown_again(_page)
def merge(campaign_id: str) -> Response:
    """Merge the chosen campaigns into this one."""
    chosen = request.form.getlist("campaignIds")
    if not chosen:
        raise InvalidInput.field(
            "campaignIds", "Choose the campaigns that become part of this one."
        )
    typed = forms.load(CampaignMergeCreate(), {"campaignIds": chosen})
    with audited(Action.CAMPAIGNS_MERGED, campaign_id) as session:
        after_commit(session, current_runtime().state.new_key_version)
        merging.merge(session, campaign_id, typed["campaign_ids"])
        for former_id in typed["campaign_ids"]:
            record(session, Action.CAMPAIGNS_MERGED, former_id)
    return forms.redirect_with("campaigns-merged", "campaigns.show", campaign_id=campaign_id)


def _others(session: Session, campaign: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the campaigns to merge, by id, of the words of the request or of the same name first."""
    words = forms.load(CampaignQuery(), request.args).get("q", "")
    namesakes = {} if words else service.namesakes(session, campaign["id"], campaign["name"])
    found = service.list_page(session, _OFFERED, q=words)
    named = {key: (campaign["name"], external_id) for key, external_id in namesakes.items()}
    named |= {row["id"]: (row["name"], row["external_id"]) for row in found.items}
    named.pop(campaign["id"], None)
    return {
        "words": words,
        "options": [(key, f"{name}, {outer or key}") for key, (name, outer) in named.items()],
        "are_all": found.total_count <= _OFFERED.page_size,
    }


def _scorecards_of(session: Session, campaign: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the scorecard that the campaign has for each channel; None for the default."""
    known = {row["id"]: row["channel"] for row in scorecards.list_page(session, _ALL).items}
    chosen = {
        channel: service.scorecard_of(session, campaign["id"], channel) for channel in CHANNELS
    }
    return {channel: key if known.get(key) == channel else None for channel, key in chosen.items()}


def _choices(session: Session) -> dict[str, list[tuple[str, str]]]:
    """Return for each channel what may judge it: the default, then every scorecard by its name."""
    listed = scorecards.list_page(session, _ALL).items
    choices = {}
    for channel in CHANNELS:
        fitting = [row for row in listed if row["channel"] == channel]
        default = next(row["name"] for row in fitting if row["judges_by_default"])
        named = [(row["id"], row["name"]) for row in fitting]
        choices[channel] = [("", f"The default of the channel: {default}"), *named]
    return choices
