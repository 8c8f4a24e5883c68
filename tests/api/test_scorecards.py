"""Scorecards: those that ship, and which one is chosen."""

import pytest

from app.core.clock import utc_now
from app.core.errors import InvalidInput, NotFound
from app.core.ids import is_id, new_id
from app.core.runtime import Runtime
from app.scorecards import default_scorecards, service
from app.scorecards.models import ScorecardVersion, StoredScorecard
from tests.caller import Caller, error_code


def own_scorecard(house: Runtime, *, channel: str = "chat") -> str:
    """Store a scorecard with two versions, of which the second is current."""
    document = default_scorecards.document_of(channel)
    scorecard_id, now = new_id("sc"), utc_now()
    with house.db.writing() as session:
        session.add(
            StoredScorecard(
                id=scorecard_id,
                name="Ours",
                channel=channel,
                current_version=2,
                created_at=now,
                updated_at=now,
            )
        )
        session.flush()
        for version in (1, 2):
            changed = {**document, "name": f"Ours {version}", "version": version}
            session.add(
                ScorecardVersion(
                    scorecard_id=scorecard_id, version=version, document=changed, created_at=now
                )
            )
    return scorecard_id


@pytest.mark.parametrize("channel", ["voice", "chat", "voice_bot"])
def test_every_channel_has_a_default(channel: str) -> None:
    found = service.current_default(channel)
    assert is_id(found.id, "sc")
    assert found.scorecard.channel == channel
    assert found.scorecard.id == found.id


def test_the_default_is_chosen_where_none_is_asked_for(house: Runtime) -> None:
    with house.db.reading() as session:
        assert service.resolve(session, channel="chat") == service.current_default("chat")


def test_the_current_version_of_an_own_one_is_chosen(house: Runtime) -> None:
    scorecard_id = own_scorecard(house)
    with house.db.reading() as session:
        found = service.resolve(session, scorecard_id=scorecard_id, channel="chat")
        former = service.version_of(session, scorecard_id, 1)
    assert (found.id, found.version, found.name) == (scorecard_id, 2, "Ours 2")
    assert (former.version, former.name) == (1, "Ours 1")


def test_an_unknown_one_and_one_of_another_channel_are_refused(house: Runtime) -> None:
    other = service.current_default("voice").id
    with house.db.reading() as session:
        for scorecard_id in (new_id("sc"), other):
            with pytest.raises(InvalidInput):
                service.resolve(session, scorecard_id=scorecard_id, channel="chat")
        with pytest.raises(NotFound):
            service.version_of(session, other, 99)


def test_the_list_shows_defaults_and_own_ones(client: Caller, house: Runtime) -> None:
    scorecard_id = own_scorecard(house)
    body = client.get("/scorecards").json()
    assert body["pagination"]["totalCount"] == 4
    chats = client.get("/scorecards", params={"channel": "chat"}).json()["data"]
    assert {each["id"]: each["isDefault"] for each in chats} == {
        scorecard_id: False,
        service.current_default("chat").id: True,
    }
    assert "definition" not in chats[0]


def test_one_is_shown_with_its_definition(client: Caller, house: Runtime) -> None:
    for scorecard_id in (own_scorecard(house), service.current_default("voice").id):
        shown = client.get(f"/scorecards/{scorecard_id}").json()["data"]
        assert sum(each["weight"] for each in shown["definition"]["criteria"]) == 100
        assert shown["criteriaCount"] == len(shown["definition"]["criteria"])
    missing = client.get(f"/scorecards/{new_id('sc')}")
    assert error_code(missing) == "RESOURCE_NOT_FOUND"
