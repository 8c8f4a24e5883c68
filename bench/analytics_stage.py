"""A believable year of evaluations, made from a seed straight into the tables of a database.

Some campaigns and people have far more than others, people belong to a call centre and work in a
few campaigns, a bot takes many calls, and there are office hours and week-ends.
"""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from sqlalchemy import insert

from app.analytics.engine.facts import COPIED
from app.analytics.models import EvaluationFact, ScoreLayout
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.directory.models import Executive
from app.engagements.models import Engagement
from app.evaluations.enums import RESOLUTIONS, TRENDS
from app.evaluations.models import Evaluation, EvaluationTotal
from app.scorecards import default_scorecards

DAYS = 365
STEP = 20_000
NUMBERS = {"engagement": 6, "campaign": 30, "call_center": 8, "executive": 200}
PREFIXES = {
    "engagement": "eng",
    "campaign": "camp",
    "call_center": "cc",
    "executive": "exec",
}
CRITERIA, SECTIONS = 13, 6
TOPICS = [f"topic {number}" for number in range(40)]
SOURCES = {"chat": "conversation", "voice": "audio_file", "voice_bot": "voice_call"}
# How busy each hour of the day is, in UTC.
HOURS = (1, 1, 1, 2, 4, 8, 12, 14, 15, 15, 14, 12, 13, 14, 14, 12, 9, 7, 5, 4, 3, 2, 1, 1)


class Stage:
    """Evaluations with their facts, and what they refer to."""

    def __init__(self, runtime: Runtime, number: int, now: datetime, seed: int = 1) -> None:
        self.dice = random.Random(seed)
        self.runtime, self.number, self.now = runtime, number, now
        self.ids = {
            noun: [new_id(PREFIXES[noun]) for _ in range(count)] for noun, count in NUMBERS.items()
        }
        self.ids["scorecard"] = [default_scorecards.IDS[channel] for channel in SOURCES]
        self.teams = [self._team(place) for place in range(NUMBERS["executive"])]
        # The first two are bots: together they take as much as dozens of people.
        weights = [40, 25, *(self.dice.uniform(0.3, 2) for _ in self.teams[2:])]
        self.weights = list(accumulate(weights))

    def _team(self, place: int) -> tuple[int, list[int]]:
        """Return the call centre of an executive, and the campaigns worked in; the first most."""
        campaigns = [self._skewed(NUMBERS["campaign"]) for _ in range(1 if place < 2 else 3)]
        return self._skewed(NUMBERS["call_center"]), campaigns

    def _skewed(self, count: int) -> int:
        """Draw a place below this number; the first ones most."""
        return min(int(self.dice.expovariate(4 / count)), count - 1)

    def make(self) -> None:
        criteria = [f"criterion_{number}" for number in range(CRITERIA)]
        sections = [f"section_{number}" for number in range(SECTIONS)]
        columns = [
            {"kind": "criterion", "key": key, "title": key, "section": "s"} for key in criteria
        ]
        columns += [
            {"kind": "section", "key": key, "title": key, "section": key} for key in sections
        ]
        stamps = {"created_at": self.now, "updated_at": self.now}
        with self.runtime.db.writing() as session:
            session.add(ScoreLayout(digest="bench", columns=columns))
            session.add_all(
                Executive(id=key, name=f"Agent {n}", kind="bot" if n < 2 else "human", **stamps)
                for n, key in enumerate(self.ids["executive"])
            )
            session.add_all(
                Engagement(id=key, name=f"Engagement {n}", type="qa", **stamps)
                for n, key in enumerate(self.ids["engagement"])
            )
            kinds = [{"kind": kind, "quantity": self.number} for kind in ("all", "current")]
            session.execute(insert(EvaluationTotal), kinds)
        moments = self._moments()
        for begin in range(0, self.number, STEP):
            several = [
                self._row(begin + place, at)
                for place, at in zip(range(STEP), moments, strict=False)
            ]
            with self.runtime.db.writing() as session:
                session.execute(insert(Evaluation), [row for row, _ in several])
                session.execute(insert(EvaluationFact), [fact for _, fact in several])
            print(f"{begin + len(several):,} of {self.number:,} evaluations made", flush=True)

    def _moments(self) -> Iterator[datetime]:
        """Yield as many moments as there are evaluations, in their order."""
        start = (self.now - timedelta(days=DAYS)).replace(minute=0, second=0, microsecond=0)
        hours = [start + timedelta(hours=hour) for hour in range(24 * DAYS)]
        busy = [HOURS[hour.hour] * (1 if hour.weekday() < 5 else 0.4) for hour in hours]
        made = 0
        for hour, reached in zip(hours, accumulate(busy), strict=True):
            until = round(self.number * reached / sum(busy))
            seconds = sorted(self.dice.uniform(0, 3600) for _ in range(until - made))
            yield from (hour + timedelta(seconds=each) for each in seconds)
            made = until

    def _row(self, place: int, moment: datetime) -> tuple[dict[str, Any], dict[str, Any]]:
        dice = self.dice
        who = dice.choices(range(NUMBERS["executive"]), cum_weights=self.weights)[0]
        center, campaigns = self.teams[who]
        campaign = campaigns[min(int(dice.expovariate(1.2)), len(campaigns) - 1)]
        channel = (
            "voice_bot" if who < 2 else ("chat" if campaign % 3 or dice.random() < 0.1 else "voice")
        )
        places = {
            "executive": who,
            "campaign": campaign,
            "call_center": center,
            "engagement": campaign % NUMBERS["engagement"],
            "scorecard": list(SOURCES).index(channel),
        }
        chosen = {noun: self.ids[noun][each] for noun, each in places.items()}
        score = min(100, max(0, round(dice.gauss(78 + who % 9, 12))))
        row = {
            "id": f"eval_{place:026d}",
            "source_id": f"conv_{place:026d}",
            "source_type": SOURCES[channel],
            "channel": channel,
            **{f"{noun}_id": key for noun, key in chosen.items()},
            "executive": "Agent",
            "campaign": "Campaign",
            "call_center": "Centre",
            "scorecard_version": 1,
            "scorecard_name": "Usual",
            "language": "en",
            "status": "completed",
            "score": score,
            "raw_score": float(score),
            "passed": score >= 70,
            "auto_failed": score < 40,
            "compliance_score": round(dice.uniform(60, 100), 2),
            "customer_sentiment": round(dice.uniform(-1, 1), 4),
            "sentiment_trend": dice.choice([*TRENDS]),
            "resolution": dice.choice([*RESOLUTIONS]),
            "duration_seconds": int(dice.expovariate(1 / 400)) + 20,
            "turn_count": 26,
            "topics": [TOPICS[min(int(dice.expovariate(0.15)), 39)]],
            "engine": {"kind": "rules", "model": None},
            "confidence": 0.9,
            "started_at": moment,
            "conversation_at": moment,
            "created_at": moment,
            "completed_at": moment + timedelta(seconds=1),
            "updated_at": moment,
        }
        return row, self._fact(row)

    def _fact(self, row: dict[str, Any]) -> dict[str, Any]:
        dice = self.dice
        criteria = [(0.0, 50.0, 100.0)[int(dice.random() * 3)] for _ in range(CRITERIA)]
        sections = [round(dice.uniform(0, 100), 2) for _ in range(SECTIONS)]
        return {
            **{name: row[name] for name in COPIED},
            "evaluation_id": row["id"],
            "talk_ratio": round(dice.random(), 4),
            "silence_percent": round(dice.uniform(0, 40), 4),
            "interruptions": int(dice.random() * 4),
            "dead_air_count": int(dice.random() * 3),
            "agent_wpm": round(dice.uniform(110, 180), 2),
            "first_response_seconds": round(dice.lognormvariate(4, 1), 2),
            "topics": row["topics"],
            "score_layout_id": 1,
            "scores": [*criteria, *sections],
        }
