"""Two teams in one service: what the first one has, and then what a second one, with marked words, adds."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from app.analytics import jobs as analytics
from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.people import audit
from app.people import service as people
from app.people.audit import COMMAND_LINE, Action
from app.people.models import SavedView, UserSession
from app.reviews import plans
from app.reviews.models import CalibrationProfile, ReviewExample, ReviewPlan
from tests.caller import Caller
from tests.contacts import HELPFUL, judge, messages, put, put_call, put_chat
from tests.recordings import SPEECH, upload, work
from tests.visitor import Visitor

AT = "2026-11-25T10:00:00Z"
MARK = "zqforeign"
_RUDE = (
    ("customer", f"Where is my {MARK} parcel? This is unacceptable."),
    ("agent", f"No idea what a {MARK} is. I cannot help you with it."),
    ("customer", "I want to speak to a manager."),
    ("agent", "No."),
)


@dataclass
class Team:
    """Ids of what a team has, by the names of the parameters of routes."""

    call_center: str
    executive: str
    campaign: str
    ids: dict[str, str] = field(default_factory=dict)


class TeamWorld:
    """The service with its teams; everybody shares one engagement and the scorecards."""

    def __init__(self, client: Caller, runtime: Runtime, admin: Visitor) -> None:
        self.client, self.runtime, self.admin = client, runtime, admin
        answer = client.post("/engagements", {"name": "Care", "type": "quality"})
        self.engagement_id = answer.json()["data"]["id"]

    def add(self, name: str, call_center: str, *, mark: str = "") -> Team:
        """Add an executive of a call centre with a campaign, a chat, a bot's call and a recording."""
        client = self.client
        # Ids without marks: they stand in paths and queries.
        center = put(client, "call-centers", f"cc-{call_center}", {"name": call_center})
        values = {"name": f"{name} {mark}".strip(), "callCenterId": center["id"]}
        executive = put(client, "executives", f"exec-{name}", values)
        camp = {"name": f"Campaign {name} {mark}".strip(), "callCenterIds": [center["id"]]}
        campaign = put(client, "campaigns", f"camp-{name}", camp)
        team = Team(center["id"], executive["id"], campaign["id"])
        of_team = {
            "executiveId": executive["id"],
            "callCenterId": center["id"],
            "campaignId": campaign["id"],
            "engagementId": self.engagement_id,
        }
        lines = _RUDE if mark else HELPFUL
        chats = [
            put_chat(
                client,
                f"chat-{name}-{number}",
                messages=messages(lines, every_s=20 + number),
                subject=f"Parcel {mark}",
                tags=[f"tag{mark}"],
                **of_team,
            )
            for number in range(5 if mark else 2)
        ]
        call = put_call(client, f"call-{name}", botName=f"Nora {mark}", **of_team)
        recording = upload(client, SPEECH.read_bytes(), fileName=f"{name}{mark}.mp3", **of_team)
        work(client, recording)
        judge()
        # Two of three facts lie in parts.
        analytics.tidy_parts(self.runtime)
        evaluations = self._rows("/evaluations", executiveId=executive["id"])
        by_source = {row["sourceId"]: row["id"] for row in evaluations}
        evaluation = by_source[chats[0]["id"]]
        review = {"action": "comment", "reviewer": f"Rita {mark}", "reason": f"Well {mark}."}
        self._post(f"/evaluations/{evaluation}/reviews", review)
        scorecard_id = next(row["scorecardId"] for row in evaluations if row["id"] == evaluation)
        coaching = {
            "executiveId": executive["id"],
            "scorecardId": scorecard_id,
            "at": AT,
            "criteria": ["opening.greeting"],
            "evidence": [{"evaluationId": evaluation}],
            "steps": f"Greet {mark}.",
            "notes": f"Tired {mark}.",
        }
        team.ids["coaching_session_id"] = self._post("/coaching-sessions", coaching)["id"]
        goal = {"executiveId": executive["id"], "from": 50, "to": 80, "by": AT}
        team.ids["goal_id"] = self._post("/goals", goal)["id"]
        if mark:
            self._add_more(team, evaluation, mark)
        team.ids |= {
            "evaluation_id": evaluation,
            "conversation_id": chats[0]["id"],
            "voice_call_id": call["id"],
            "audio_file_id": recording,
            "executive_id": executive["id"],
            "campaign_id": campaign["id"],
            "call_center_id": center["id"],
        }
        if not mark:
            team.ids["engagement_id"] = self.engagement_id
        return team

    def _add_more(self, team: Team, evaluation: str, mark: str) -> None:
        """Add what belongs to no team, and what people do with the conversations."""
        round_ = {"name": f"Round {mark}", "evaluationIds": [evaluation], "reviewers": ["A", "B"]}
        export = {"dataset": "evaluations", "format": "csv", "fileName": f"all{mark}.csv"}
        bulk = {"filters": {"executiveId": team.executive}, "dryRun": False}
        key = {"name": f"Key {mark}", "scopes": ["evaluations:read"]}
        team.ids["key_id"] = self._post("/api-keys", key)["id"]
        hook = {"url": f"https://127.0.0.1/{mark}", "events": ["export.ready"]}
        team.ids["subscription_id"] = self._post("/webhooks", hook)["id"]
        sent = {"format": "native", "content": f"{mark}", "dryRun": True}
        team.ids["import_id"] = self._post("/imports", sent)["id"]
        team.ids["job_id"] = self._post("/analytics/export", export)["jobId"]
        analytics.run_export(self.runtime, team.ids["job_id"])
        team.ids["re_evaluation_id"] = self._post("/re-evaluations", bulk)["id"]
        team.ids["round_id"] = self._post("/analytics/calibration-rounds", round_)["id"]
        view = {"name": f"View {mark}", "query": "sort=score", "isShared": "true"}
        assert self.admin.post("/evaluations/views", view).status_code == 303
        with self.runtime.db.writing() as session:
            user = people.create(
                session,
                name=f"user-{team.executive}",
                display_name=f"User {mark}",
                role="lead",
                password_hash="-",
                call_center_ids=[team.call_center],
                campaign_ids=[team.campaign],
            )
            team.ids["user_id"] = user.id
            audit.record(session, COMMAND_LINE, Action.EVALUATION_OPENED, evaluation)
        self._plan(team, mark)
        self._learn(team, evaluation, mark)

    def _plan(self, team: Team, mark: str) -> None:
        """Make a review plan that has drawn a conversation of the team."""
        plan = {
            "name": f"Plan {mark}",
            "perAgent": 1,
            "filters": {"executiveId": team.executive},
            "reviewers": [{"userId": team.ids["user_id"]}],
        }
        team.ids["plan_id"] = self._post("/reviews/plans", plan)["id"]
        with self.runtime.db.writing() as session:
            # A new plan begins with its next day.
            session.get_one(ReviewPlan, team.ids["plan_id"]).drawn_week = None
            plans.draw_week(session, plans.week_of(session, team.ids["plan_id"]))
        [drawn] = self._rows("/reviews/assignments", planId=team.ids["plan_id"])
        team.ids["assignment_id"] = drawn["id"]

    def _learn(self, team: Team, evaluation: str, mark: str) -> None:
        """Add what the judge has learnt from reviews, and note what the admin has."""
        about = {"engagement_id": self.engagement_id, "created_at": utc_now()}
        with self.runtime.db.reading() as session:
            version = len(session.scalars(select(CalibrationProfile.id)).all()) + 1
        example = ReviewExample(
            id=new_id("ex"),
            evaluation_id=evaluation,
            criterion_key="opening.greeting",
            kind="greeting",
            counts=True,
            text=f"Good {mark}.",
            reviewer=f"Rita {mark}",
            **about,
        )
        profile = CalibrationProfile(
            id=new_id("cal"),
            version=version,
            engine={"name": mark},
            label_source=mark,
            label_count=1,
            figures={},
            model={},
            **about,
        )
        with self.runtime.db.writing() as session:
            session.add_all([example, profile])
            team.ids |= {
                "example_id": example.id,
                "profile_id": profile.id,
                "view_id": session.scalars(select(SavedView.id)).first() or "",
                "session_id": session.scalars(select(UserSession.id)).first() or "",
            }

    def _rows(self, path: str, **params: str) -> list[dict[str, Any]]:
        answer = self.client.get(path, params={**params, "pageSize": 100})
        assert answer.status_code == 200, answer.text
        rows: list[dict[str, Any]] = answer.json()["data"]
        return rows

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.post(path, body)
        assert answer.ok, answer.text
        made: dict[str, Any] = answer.json()["data"]
        return made
