"""Editor of scorecards: a draft kept on the server, as a form and as JSON, until it is published."""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import orjson
from flask import redirect, render_template, request, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.campaigns import service as campaigns
from app.core.errors import AppError, Conflict, InvalidInput, NotFound, PreconditionFailed
from app.core.json_documents import load_object
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import record
from app.dashboard.pages.scorecards.trial import (
    checked,
    large_change_text,
    last_trial,
    loaded_document,
    start_trial,
)
from app.dashboard.pickers import campaign_names
from app.dashboard.views.scorecards import draft_form
from app.dashboard.views.scorecards.controls import (
    edited_sections,
    metric_controls,
    named_campaigns,
    rules_for,
)
from app.dashboard.views.scorecards.draft_changes import changed, leaf_changes
from app.dashboard.words import WORDS
from app.people import service as people
from app.people.audit import Action
from app.people.gate import current_person
from app.scorecards import authoring, default_scorecards, drafts
from app.scorecards import service as scorecards
from app.scorecards.authoring import complete_document
from app.web.current import current_runtime

blp = PageBlueprint(
    "scorecard_editor", __name__, url_prefix="/scorecards/drafts", scope="scorecards:manage"
)

_MOST_DIFFERENCES = 50


@blp.post("")
def open_draft() -> Response:
    """Open the draft of a scorecard's next version, or a new scorecard that starts from another.

    `startFrom` names a scorecard, or a channel for an empty one.
    """
    start = request.form.get("startFrom", "")
    user_id = current_person().user_id
    with current_runtime().db.writing() as session:
        if start in default_scorecards.IDS:
            document = draft_form.empty_document(default_scorecards.document_of(start))
            opened = drafts.open_draft(session, user_id, document, channel=start)
        else:
            scorecard = scorecards.get(session, start)
            document = draft_form.tidy(scorecard["definition"])
            base: dict[str, Any] = {}
            if request.form.get("nextVersion") != "true":
                document["name"] = f"Copy of {document['name']}"
            elif scorecard["is_default"]:
                raise Conflict("Default scorecards cannot be changed; copy this one instead.")
            else:
                base = {"scorecard_id": start, "base_version": scorecard["version"]}
            opened = drafts.open_draft(
                session, user_id, document, channel=scorecard["channel"], **base
            )
        return redirect(url_for(".show", draft_id=opened.id), 303)


@blp.get("/<id:draft_id>")
def show(draft_id: str) -> str:
    """Show a draft as a form."""
    with current_runtime().db.reading() as session:
        draft = drafts.get(session, draft_id)
        return _page(session, draft, draft.document)


@blp.post("/<id:draft_id>")
def save(draft_id: str) -> Response | tuple[str, int]:
    """Save what was typed; then add, move, copy or remove a part of it, try it or publish it.

    If somebody else has changed the draft meanwhile, nothing is saved and what was typed stays.
    If the draft is gone, what was typed becomes a new one.
    """
    action = request.form.get("action", "save")
    try:
        typed = typed_document(draft_id)
    except NotFound:
        return _reopened(_typed(_typed_channel()))
    try:
        if action in ("publish", "try"):
            save_draft(draft_id, typed)
            return _publish(draft_id) if action == "publish" else _try(draft_id)
        shipped = default_scorecards.document_of(typed["channel"])
        document, part = changed(typed, action, shipped)
        save_draft(draft_id, document)
    except PreconditionFailed as refused:
        with current_runtime().db.reading() as session:
            draft = drafts.get(session, draft_id)
            return _page(session, draft, typed, has_changed=True), refused.status
    return redirect(
        url_for(".show", draft_id=draft_id, open=part or None, _anchor=part or None), 303
    )


@blp.get("/<id:draft_id>/json")
def show_json(draft_id: str) -> str:
    """Show a draft as JSON."""
    with current_runtime().db.reading() as session:
        draft = drafts.get(session, draft_id)
    text = orjson.dumps(draft.document, option=orjson.OPT_INDENT_2).decode()
    return render_template("scorecards/json.html", draft=draft, text=text, refused=None)


@blp.post("/<id:draft_id>/json")
def save_json(draft_id: str) -> Response | tuple[str, int]:
    """Save a draft that was edited as JSON; fields of a wrong type are refused."""
    text = request.form.get("json", "")
    is_gone = False
    draft: Any
    try:
        with current_runtime().db.reading() as session:
            draft = drafts.get(session, draft_id)
    except NotFound:
        is_gone = True
        draft = SimpleNamespace(
            id=draft_id,
            version=0,
            channel=_typed_channel(),
            document={},
            scorecard_id=request.form.get("scorecardId"),
            base_version=request.form.get("baseVersion"),
        )
    try:
        document = load_object(text.encode(), noun="draft")
        if document.get("channel") != draft.channel:
            raise InvalidInput.field("channel", f"The channel of this draft is {draft.channel}.")
        loaded_document(document)
        if is_gone:
            return _reopened(document)
        save_draft(draft_id, document)
    except AppError as refused:
        page = render_template("scorecards/json.html", draft=draft, text=text, refused=refused)
        return page, refused.status
    return redirect_with("draft-saved", "scorecard_editor.show_json", draft_id=draft_id)


@blp.post("/<id:draft_id>/publish")
def publish(draft_id: str) -> Response | tuple[str, int]:
    """Publish a draft after its person was asked again about this version of it."""
    return _publish(draft_id, confirmed_version=request.form.get("version", 0, type=int))


@blp.post("/<id:draft_id>/discard")
def discard(draft_id: str) -> Response:
    """Discard a draft."""
    with current_runtime().db.writing() as session:
        drafts.delete(session, draft_id)
    return redirect_with("draft-discarded", "scorecards.list_page")


def typed_document(draft_id: str) -> dict[str, Any]:
    with current_runtime().db.reading() as session:
        return _typed(drafts.get(session, draft_id).channel)


def save_draft(draft_id: str, document: Mapping[str, Any]) -> Any:
    """Save a draft as the person of this request has typed it; return it.

    Raises:
        PreconditionFailed: somebody else has changed it since it was read; the message says who.
    """
    with current_runtime().db.writing() as session:
        former = drafts.get(session, draft_id)
        try:
            return drafts.save(
                session,
                draft_id,
                current_person().user_id,
                draft_form.tidy(document),
                seen_version=request.form.get("version", 0, type=int),
            )
        except PreconditionFailed as refused:
            editor = _name(session, former.updated_by)
            message = (
                f"{editor} has changed this draft meanwhile. What you typed stays on this page."
            )
            raise PreconditionFailed(message) from refused


def _typed(channel: str) -> dict[str, Any]:
    return {**draft_form.document_of(request.form), "channel": channel}


def _typed_channel() -> str:
    """Return the channel that the form names; raises `NotFound` where it names none."""
    channel = request.form.get("channel", "")
    if channel not in default_scorecards.IDS:
        raise NotFound("There is no such draft: it was published or discarded.")
    return channel


def _reopened(typed: dict[str, Any]) -> Response | tuple[str, int]:
    """Make a new draft of what was typed into one that is gone.

    If its scorecard has another draft by now, nothing is saved and what was typed stays.
    """
    document = draft_form.tidy(typed)
    with current_runtime().db.writing() as session:
        base: dict[str, Any] = {}
        if scorecard_id := request.form.get("scorecardId"):
            scorecards.get(session, scorecard_id)
            base_version = request.form.get("baseVersion", 1, type=int)
            base = {"scorecard_id": scorecard_id, "base_version": base_version}
        user_id = current_person().user_id
        draft = drafts.open_draft(session, user_id, document, channel=typed["channel"], **base)
        if draft.document != document:
            return _page(session, draft, document, has_changed=True), PreconditionFailed.status
        return redirect_with("draft-reopened", "scorecard_editor.show", draft_id=draft.id)


def _try(draft_id: str) -> Response | tuple[str, int]:
    try:
        return start_trial(draft_id)
    except (InvalidInput, Conflict) as refused:
        return _refused_page(draft_id, refused)


def _publish(draft_id: str, *, confirmed_version: int | None = None) -> Response | tuple[str, int]:
    """Publish a draft as it is stored, or ask again and say why."""
    try:
        with current_runtime().db.writing() as session:
            draft = drafts.get(session, draft_id, for_update=True)
            document = loaded_document(draft.document)
            complete_document(document, where="")
            doubts = _doubts(session, draft)
            if doubts and draft.version != confirmed_version:
                return render_template("scorecards/publish.html", draft=draft, doubts=doubts), 409
            if draft.scorecard_id is None:
                published = authoring.create(session, document)
            else:
                published = authoring.add_version(session, draft.scorecard_id, document)
            drafts.delete(session, draft_id)
            record(session, Action.SCORECARD_PUBLISHED, published["id"])
            is_used = published["judges_by_default"] or campaigns.names_with_scorecard(
                session, published["id"], published["channel"]
            )
    except (InvalidInput, Conflict) as refused:
        return _refused_page(draft_id, refused)
    notice = "scorecard-published" if is_used else "scorecard-published-unused"
    return redirect_with(notice, "scorecards.show", scorecard_id=published["id"])


def _refused_page(draft_id: str, refused: AppError) -> tuple[str, int]:
    with current_runtime().db.reading() as session:
        draft = drafts.get(session, draft_id)
        return _page(session, draft, draft.document, refused=refused), refused.status


def _doubts(session: Session, draft: Any) -> list[str]:
    """Return the reasons to ask again before a draft is published."""
    doubts = []
    if draft.scorecard_id is not None:
        current = scorecards.get(session, draft.scorecard_id)["version"]
        if current != draft.base_version:
            doubts.append(
                f"Version {current} was published after this draft began with version "
                f"{draft.base_version}; what changed in it is not in the draft."
            )
    shipped = {item["key"] for item in default_scorecards.document_of(draft.channel)["criteria"]}
    never = [
        item["title"]
        for item in draft.document["criteria"]
        if not {item.get("use"), item["key"]} & shipped and "rule" not in item.get("judge", {})
    ]
    if never and not current_runtime().settings.has_language_model:
        doubts.append(
            f"This service has no language model: {', '.join(never)} will never be judged."
        )
    trial = last_trial(session, draft)
    if trial and trial["result"] and (text := large_change_text(trial["result"])):
        doubts.append(text)
        if draft.version != draft.trial_version:
            doubts.append("The draft has changed since that trial.")
    return doubts


def _name(session: Session, user_id: str) -> str:
    return people.display_names(session, {user_id}).get(user_id, "Somebody")


def _page(
    session: Session,
    draft: Any,
    document: dict[str, Any],
    *,
    has_changed: bool = False,
    refused: AppError | None = None,
) -> str:
    check = checked(document, draft.channel)
    used = {criterion.get("key") for criterion in document["criteria"]}
    shipped = default_scorecards.document_of(draft.channel)
    campaigns = campaign_names(session, named_campaigns(document))
    differences = leaf_changes(draft.document, document) if has_changed else []
    return render_template(
        "scorecards/editor.html",
        draft=draft,
        document=document,
        check=check,
        messages=check.messages,
        groups=edited_sections(document, draft.channel, campaigns),
        campaigns=campaigns,
        thresholds=metric_controls(document.get("metrics", {})),
        section_titles={
            section["key"]: section.get("title", section["key"])
            for section in document["sections"]
            if "key" in section
        },
        addable=[item for item in shipped["criteria"] if item["key"] not in used],
        rules=partial(rules_for, has_model=current_runtime().settings.has_language_model),
        words_of=WORDS,
        editor=_name(session, draft.updated_by),
        has_changed=has_changed,
        differences=differences[:_MOST_DIFFERENCES],
        refused=refused,
        opened=request.args.get("open", ""),
    )
