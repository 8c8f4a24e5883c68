"""Links of agents' accounts to executives: proposed by e-mail address or external id, confirmed in bulk."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flask import render_template, request
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.core.database.locks import one_at_a_time
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import record
from app.directory.service import CALL_CENTERS, executives_known_by
from app.people import service
from app.people.audit import Action
from app.people.roles import AGENT, MANAGE_PEOPLE
from app.web.current import current_runtime

blp = PageBlueprint("links", __name__, scope=MANAGE_PEOPLE)


@dataclass(frozen=True, slots=True)
class Proposal:
    """An agent's account with the executive that it probably is, or the reason why none is proposed."""

    user: Any
    executive: Any | None
    reason: str

    @property
    def value(self) -> str:
        return f"{self.user.id}:{self.executive.id}" if self.executive else ""


@blp.get("/people/links")
def show() -> str:
    """Show the agents who see nothing yet, each with the executive that is proposed."""
    with current_runtime().db.reading() as session:
        proposals = list(_proposals(session))
        centers = CALL_CENTERS.names(
            session,
            {each.executive.call_center_id for each in proposals if each.executive} - {None},
        )
        return render_template("people/links.html", proposals=proposals, centers=centers)


@blp.post("/people/links")
def confirm() -> Response:
    """Link the agents that were chosen, unless the proposal is another one by now."""
    chosen = set(request.form.getlist("link"))
    with current_runtime().db.writing() as session:
        one_at_a_time(session, "links of agents")
        for proposal in list(_proposals(session)):
            if proposal.executive is not None and proposal.value in chosen:
                user = proposal.user
                service.change_role(
                    session,
                    user,
                    AGENT,
                    executive_id=proposal.executive.id,
                    call_center_ids=user.call_center_ids,
                )
                record(session, Action.ROLE_CHANGED, user.id)
    return redirect_with("agents-linked", "links.show")


def _proposals(session: Session) -> Iterator[Proposal]:
    agents = service.agents_without_executive(session)
    names = {name for user in agents for name in (user.name, user.email) if name}
    executives = executives_known_by(session, names)
    taken = service.executives_in_use(session, [executive.id for executive in executives])
    found = [[executive for executive in executives if _fits(user, executive)] for user in agents]
    claims = Counter(fitting[0].id for fitting in found if len(fitting) == 1)
    for user, fitting in zip(agents, found, strict=True):
        if len(fitting) != 1:
            reason = "several agents fit" if fitting else "no agent fits"
            yield Proposal(user, None, reason)
        elif fitting[0].id in taken:
            yield Proposal(user, None, f"{fitting[0].name} has the account {taken[fitting[0].id]}")
        elif claims[fitting[0].id] > 1:
            yield Proposal(user, None, f"{fitting[0].name} fits several accounts")
        else:
            yield Proposal(user, fitting[0], "")


def _fits(user: Any, executive: Any) -> bool:
    """Return whether an executive has the address or the name of a user, in their call centres."""
    is_there = not user.call_center_ids or executive.call_center_id in user.call_center_ids
    has_address = bool(user.email) and (executive.email or "").casefold() == user.email
    has_name = (executive.external_id or "").casefold() == user.name
    return is_there and (has_address or has_name)
