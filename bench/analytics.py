"""How long the views of analytics take, and how fast an export is, over made-up evaluations.

`python -m bench.analytics [evaluations] [folder]`; the data set is kept in the folder, if one is
named, and used again. Times are of whole requests in this process, the best of three.
"""

import csv
import json
import random
import resource
import sqlite3
import sys
import tempfile
import time
from array import array
from datetime import timedelta
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import insert

from app import tables  # noqa: F401
from app.analytics import exporter, figures
from app.analytics.models import Fact, FactCode, FactLayout
from app.api_keys import service as api_keys
from app.core.clock import utc_now
from app.core.crypto import create_key_file
from app.core.db import Table
from app.core.ids import new_id
from app.core.runtime import Runtime, runtime
from app.core.settings import Rate, Settings
from app.directory.models import Executive
from app.evaluations.models import Evaluation, EvaluationTotal
from app.factory import create_app
from tests.caller import signature

DAYS = 365
STEP = 10_000
LANES = [f"criterion_{number}" for number in range(13)]
SECTIONS = [f"section_{number}" for number in range(6)]


class Maker:
    """Random evaluations, spread evenly over a year, with their facts."""

    def __init__(self, parts: Runtime, number: int) -> None:
        self.dice = random.Random(number)
        self.parts, self.number = parts, number
        self.ids = {
            "executive": [new_id("exec") for _ in range(200)],
            "campaign": [new_id("camp") for _ in range(40)],
            "call_center": [new_id("cc") for _ in range(10)],
            "scorecard": [new_id("sc") for _ in range(3)],
        }
        self.codes = {key: code for code, key in enumerate(chain(*self.ids.values()), 1)}
        self.now = utc_now()

    def make(self) -> None:
        lanes = [{"kind": "criterion", "key": key, "title": key, "section": "s"} for key in LANES]
        lanes += [{"kind": "section", "key": key, "title": key, "section": key} for key in SECTIONS]
        with self.parts.db.writing() as session:
            codes = [{"key": key, "code": code} for key, code in self.codes.items()]
            session.execute(insert(FactCode), codes)
            session.add(FactLayout(id=1, digest="bench", lanes=lanes))
            session.add_all(
                Executive(id=key, name=f"Agent {n}", created_at=self.now, updated_at=self.now)
                for n, key in enumerate(self.ids["executive"])
            )
            kinds = [{"kind": kind, "quantity": self.number} for kind in ("all", "current")]
            session.execute(insert(EvaluationTotal), kinds)
        for begin in range(0, self.number, STEP):
            rows = [self.row(begin + place) for place in range(min(STEP, self.number - begin))]
            with self.parts.db.writing() as session:
                session.execute(insert(Evaluation), [row for row, _ in rows])
                session.execute(insert(Fact), [fact for _, fact in rows])

    def row(self, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
        dice = self.dice
        moment = self.now - timedelta(days=DAYS * (1 - place / self.number))
        chosen = {noun: dice.choice(keys) for noun, keys in self.ids.items()}
        score = min(100, max(0, round(dice.gauss(78, 14))))
        row = {
            "id": f"eval_{place:026d}",
            "source_id": f"conv_{place:026d}",
            "source_type": "conversation",
            "channel": dice.choice(figures.CHANNELS),
            **{f"{noun}_id": key for noun, key in chosen.items()},
            "executive": "Agent",
            "campaign": "Campaign",
            "call_center": "Centre",
            "scorecard_version": 1,
            "scorecard_name": "Chat",
            "language": "en",
            "status": "completed",
            "score": score,
            "raw_score": float(score),
            "passed": score >= 70,
            "auto_failed": score < 40,
            "compliance_score": round(dice.uniform(60, 100), 2),
            "customer_sentiment": round(dice.uniform(-1, 1), 4),
            "sentiment_trend": dice.choice(["improving", "no_change", "declining"]),
            "resolution": dice.choice(["resolved", "unresolved"]),
            "duration_seconds": dice.randrange(60, 1800),
            "turn_count": dice.randrange(4, 60),
            "topics": dice.sample(["billing", "refund", "delivery", "login"], 2),
            "engine": {"kind": "rules", "model": None},
            "confidence": 0.9,
            "started_at": moment,
            "created_at": moment,
            "completed_at": moment,
            "updated_at": moment,
        }
        metrics = {
            "talkRatio": round(dice.random(), 4),
            "silencePercent": round(dice.uniform(0, 40), 4),
            "interruptionsByAgent": dice.randrange(4),
            "deadAirCount": dice.randrange(3),
            "agentWpm": round(dice.uniform(110, 180), 2),
            "firstResponseSeconds": round(dice.uniform(1, 400), 2),
        }
        at = round(moment.timestamp() * 1_000_000)
        shares = array("H", [dice.choice((0, 5000, 10_000)) for _ in LANES])
        shares.extend([dice.randrange(10_000) for _ in SECTIONS])
        fact = {
            "at": at,
            "channel": figures.CHANNELS.index(row["channel"]),
            "layout": 1,
            **{noun: self.codes[key] for noun, key in chosen.items()},
            "figures": figures.packed(SimpleNamespace(**row), at // 1_000_000, metrics),
            "shares": figures.joined(shares),
            "topics": "\n".join(row["topics"]),
            "source_id": row["source_id"],
            "evaluation_id": row["id"],
        }
        return row, fact


class Client:
    """Signs requests and gives them to the application in this process."""

    def __init__(self, app: Any) -> None:
        self.app = app.test_client()
        with runtime().db.writing() as session:
            issued = api_keys.create_key(session, runtime().keyring, name="bench", scopes=["*"])
        self.pair = issued.pair

    def call(self, method: str, target: str, body: Any = None) -> Any:
        data = json.dumps(body).encode() if body else b""
        stamp = str(int(time.time()))
        signed = signature(self.pair.secret, stamp, "", method, target, data)
        headers = {"X-Api-Key": self.pair.api_key, "X-Timestamp": stamp, "X-Signature": signed}
        if data:
            headers["Content-Type"] = "application/json"
        return self.app.open(target, method=method, data=data, headers=headers)


def views(client: Client, ids: dict[str, list[str]]) -> None:
    now = utc_now()
    year = {"from": (now - timedelta(days=DAYS + 1)).strftime("%Y-%m-%dT%H:%M:%SZ")}
    asked = [
        ("summary", {}),
        ("summary", {"campaignId": ids["campaign"][0]}),
        ("summary", {"executiveId": ids["executive"][0], **year}),
        ("summary", {"compare": "previous_period"}),
        ("executives", {}),
        ("campaigns", {}),
        ("call-centers", {}),
        ("trends", {}),
        ("trends", {"groupBy": "executive", "granularity": "week"}),
        ("trends", {"groupBy": "section"}),
        ("trends", {"groupBy": "topic"}),
        ("summary", year),
        ("summary", {"channel": "chat", **year}),
        ("executives", year),
        ("trends", {"granularity": "month", **year}),
    ]
    for view, params in asked:
        target = f"/api/v1/analytics/{view}" + (f"?{urlencode(params)}" if params else "")
        best = 1e9
        for _ in range(3):
            started = time.perf_counter()
            answer = client.call("GET", target)
            best = min(best, time.perf_counter() - started)
            assert answer.status_code == 200, answer.text
        told = ", ".join(name if name != "from" else "a year" for name in params) or "30 days"
        print(f"{view:14} {told:40} {best * 1000:8.1f} ms")


def export(client: Client, format_: str) -> None:
    body = {"dataset": "evaluations", "format": format_}
    job = client.call("POST", "/api/v1/analytics/export", body).get_json()["data"]["jobId"]
    before, started = _peak_mib(), time.perf_counter()
    exporter.work(runtime())
    elapsed = time.perf_counter() - started
    data = client.call("GET", f"/api/v1/analytics/export/{job}").get_json()["data"]
    assert data["status"] == "ready", data
    print(
        f"export {format_:8} {data['rowCount']:9,} rows {elapsed:7.1f} s "
        f"{data['rowCount'] / elapsed:9,.0f} rows/s {data['fileSizeBytes'] / 1e6:7.1f} MB "
        f"peak memory {_peak_mib() - before:+.0f} MiB"
    )


def bare(file: Path, to: Path) -> None:
    """Do what nobody could do faster in Python: one select, one writer."""
    started = time.perf_counter()
    with sqlite3.connect(file) as connection, to.open("w", newline="") as out:
        writer = csv.writer(out)
        cursor = connection.execute("SELECT * FROM evaluations ORDER BY id")
        count = 0
        while rows := cursor.fetchmany(1000):
            writer.writerows(rows)
            count += len(rows)
    connection.close()
    elapsed = time.perf_counter() - started
    print(f"bare sqlite3 to csv  {count:9,} rows {elapsed:5.1f} s {count / elapsed:9,.0f} rows/s")
    to.unlink()


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(number: int, folder: Path) -> None:
    is_new = not (folder / "cqe.db").exists()
    folder.mkdir(parents=True, exist_ok=True)
    if is_new:
        create_key_file(folder)
    settings = Settings(
        data_dir=folder,
        redis_url="none",
        sqlite_synchronous="NORMAL",
        log_level="WARNING",
        rate_limit_expensive=Rate(1000, 60),
    )
    app = create_app(settings)
    parts = runtime()
    if is_new:
        Table.metadata.create_all(parts.db.engine)
        started = time.perf_counter()
        Maker(parts, number).make()
        print(f"{number:,} evaluations made in {time.perf_counter() - started:.1f} s")
    with parts.db.reading() as session:
        rows = session.connection().exec_driver_sql("SELECT key FROM evaluation_fact_codes")
        keys = [key for (key,) in rows]
    ids = {
        "campaign": [key for key in keys if key.startswith("camp_")],
        "executive": [key for key in keys if key.startswith("exec_")],
    }
    client = Client(app)
    views(client, ids)
    for format_ in ("csv", "jsonl"):
        export(client, format_)
    bare(folder / "cqe.db", folder / "bare.csv")


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    main(wanted, Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()))
