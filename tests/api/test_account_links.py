"""Links of accounts to agents: proposed by address or external id, and confirmed in bulk."""

import re
import threading

import pytest

from app.core.database.locks import one_at_a_time
from app.core.runtime import Runtime
from app.people import service
from app.people.audit import Action
from app.people.models import AuditEntry
from tests.caller import Caller
from tests.contacts import put
from tests.visitor import add_user, signed_in


def test_agents_are_linked_where_one_executive_fits(
    base: str, runtime: Runtime, client: Caller
) -> None:
    admin = signed_in(base, runtime, "admin")
    assert "Every account" in admin.get("/people/links").text
    berlin = put(client, "call-centers", "b", {"name": "Berlin"})["id"]

    def executive(external_id: str, **values: object) -> str:
        return str(put(client, "executives", external_id, {"name": external_id, **values})["id"])

    def agent(name: str, email: str = "", **teams: object) -> str:
        user_id = add_user(runtime, "agent", name)
        with runtime.db.writing() as session:
            user = service.get(session, user_id)
            service.change_email(session, user, email)
            service.change_role(session, user, "agent", **teams)
        return user_id

    fitting = {
        agent("nora", "nora@example.com"): executive("n1", email="Nora@Example.com"),
        agent("tom77"): executive("TOM77".lower()),
        agent("bea", "bea@example.com", call_center_ids=[berlin]): executive(
            "b1", email="bea@example.com", callCenterId=berlin
        ),
    }
    executive("b2", email="bea@example.com")
    executive("t1", email="twins@example.com")
    executive("t2", email="twins@example.com")
    agent("twin", "twins@example.com")
    taken = executive("k1", email="kim@example.com")
    agent("kim", executive_id=taken)
    agent("kim2", "kim@example.com")
    executive("bot1", email="rob@example.com", kind="bot")
    agent("rob", "rob@example.com")
    add_user(runtime, "viewer", "n1")
    executive("max1", email="max@example.com")
    agent("max1")
    agent("maximilian", "max@example.com")

    page = admin.get("/people/links").text
    offered = re.findall(r'name="link" value="(\w+):(\w+)"', page)
    assert dict(offered) == fitting
    assert "several agents fit" in page
    assert "k1 has the account kim" in page
    assert "no agent fits" in page
    assert page.count("max1 fits several accounts") == 2

    # What nobody has proposed is not linked.
    (nora, n1), (tom, _), (bea, b1) = fitting.items()
    chosen = [f"{nora}:{n1}", f"{tom}:{n1}", f"{bea}:{b1}", "x", "x:y"]
    assert admin.post("/people/links", {"link": chosen}).status_code == 303
    with runtime.db.reading() as session:
        linked = {user_id: service.get(session, user_id).executive_id for user_id in fitting}
        entries = session.query(AuditEntry.object_id).filter_by(action=Action.ROLE_CHANGED).all()
    assert linked == {**fitting, tom: None}
    assert sorted(object_id for (object_id,) in entries) == sorted([nora, bea])


@pytest.mark.sql
def test_an_executive_who_is_linked_meanwhile_is_not_linked_twice(
    base: str, runtime: Runtime, client: Caller
) -> None:
    admin = signed_in(base, runtime, "admin")
    executive_id = put(client, "executives", "nora", {"name": "Nora"})["id"]
    nora, other = add_user(runtime, "agent", "nora"), add_user(runtime, "agent", "other")
    admin.get("/people/links")
    link = {"link": f"{nora}:{executive_id}"}
    confirming = threading.Thread(target=lambda: admin.post("/people/links", link))
    with runtime.db.writing() as session:
        one_at_a_time(session, "links of agents")
        user = service.get(session, other)
        service.change_role(session, user, "agent", executive_id=executive_id)
        session.flush()
        confirming.start()
        # It ends now only where it does not wait.
        confirming.join(1)
    confirming.join()
    with runtime.db.reading() as session:
        assert service.get(session, nora).executive_id is None


def test_others_do_not_see_the_page(base: str, runtime: Runtime) -> None:
    assert signed_in(base, runtime, "lead").get("/people/links").status_code == 403


def test_the_address_of_an_account_is_set_by_page(base: str, runtime: Runtime) -> None:
    admin = signed_in(base, runtime, "admin")
    nora, tom = add_user(runtime, "viewer", "nora"), add_user(runtime, "viewer", "tom")
    admin.get("/people")
    saved = admin.post(f"/people/{nora}/email", {"email": "Nora@Example.com"})
    assert saved.headers["Location"] == f"/people/{nora}?notice=email-changed"
    assert "nora@example.com" in admin.get(f"/people/{nora}").text
    for email in ("nora@example.com", "no address", "a@b@c", "x" * 251 + "@b.c"):
        answer = admin.post(f"/people/{tom}/email", {"email": email})
        assert (answer.status_code, 'id="email-problem"' in answer.text) == (422, True), email
    created = admin.post("/people", {"name": "jo", "role": "viewer", "email": "NORA@example.com"})
    assert (created.status_code, "belongs to nora" in created.text) == (422, True)
    assert admin.post(f"/people/{nora}/email", {"email": ""}).status_code == 303
    with runtime.db.reading() as session:
        assert service.get(session, nora).email is None
