"""CPU time of the reports of analytics, and of recording one more evaluation.

`python -m bench.analytics [evaluations] [folder] [URL]`; with a folder, its data set is kept and used
again, with the URL of an empty PostgreSQL database in that.
Requests run in this process. Their times are CPU milliseconds, which a busy machine hardly changes:
the first, the best and the median of five. The first one finds no remembered aggregates.
"""

import json
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from flask import Flask
from sqlalchemy import select, text

from app.analytics.engine import parts
from app.analytics.engine.database import fact_database
from app.analytics.models import EvaluationFact
from app.core.clock import utc_now
from app.core.database.session import Table
from app.core.runtime import Runtime
from app.core.secrets.encryption import create_key_file
from app.core.setting_parsers import RateLimit
from app.core.settings import Settings
from app.factory import create_app
from app.web.current import runtime_of
from bench.analytics_stage import Stage
from bench.service import memory_mib, new_key
from tests.caller import signature
from tests.conversations import completed


class Client:
    """Signs requests and gives them to the application in this process."""

    def __init__(self, app: Any) -> None:
        self.app = app.test_client()
        self.pair = new_key(runtime_of(app))

    def call(self, method: str, target: str, body: Any = None) -> Any:
        data = json.dumps(body).encode() if body else b""
        stamp = str(int(time.time()))
        signed = signature(self.pair.secret, stamp, "", method, target, data)
        headers = {"X-Api-Key": self.pair.api_key, "X-Timestamp": stamp, "X-Signature": signed}
        if data:
            headers["Content-Type"] = "application/json"
        return self.app.open(target, method=method, data=data, headers=headers)


def filters(ids: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    """Return filters by what they are called here; people and campaigns from the middle."""
    single = {
        "no filter": {},
        "engagement": {"engagementId": ids["eng"][1]},
        "campaign": {"campaignId": ids["camp"][1]},
        "call centre": {"callCenterId": ids["cc"][0]},
        "executive": {"executiveId": ids["exec"][50]},
        "bot": {"executiveId": ids["exec"][0]},
        "scorecard": {"scorecardId": ids["sc"][0]},
        "channel": {"channel": "chat"},
        "Kolkata": {"timezone": "Asia/Kolkata"},
        "Berlin": {"timezone": "Europe/Berlin"},
        "compared": {"compare": "previous_period"},
    }
    return {
        **single,
        "two filters": {**single["engagement"], **single["scorecard"]},
        "three, compared": {**single["engagement"], **single["channel"], **single["compared"]},
    }


def views(client: Client, ids: dict[str, list[str]]) -> None:
    """Print what requests for each report, period and filter take."""
    now = utc_now()
    for days in (30, 90, 365):
        start = (now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for name, chosen in filters(ids).items():
            lines = []
            for view in ("summary", "campaigns", "call-centers", "executives", "trends"):
                query = urlencode({"from": start, **chosen})
                lines.append(f"{view} {measured(client, f'/api/v1/analytics/{view}?{query}')}")
            print(f"{days:3} days, {name:16} {' | '.join(lines)}", flush=True)
        for group in ("campaign", "executive", "topic", "section"):
            for zone in ("UTC", "Asia/Kolkata"):
                query = urlencode({"from": start, "groupBy": group, "timezone": zone})
                figures = measured(client, f"/api/v1/analytics/trends?{query}")
                print(f"{days:3} days, trends by {group} in {zone:13} {figures}", flush=True)


def measured(client: Client, target: str) -> str:
    """Return the CPU times of a request: the first, the best and the median of five."""
    fact_database(runtime_of(client.app.application).settings).forget()
    times = [timed(client, target) for _ in range(5)]
    return f"{times[0]:5.0f} {min(times):5.0f} {sorted(times)[2]:5.0f}"


def timed(client: Client, target: str) -> float:
    """Return how much CPU a request takes, in milliseconds."""
    started = time.process_time()
    answer = client.call("GET", target)
    elapsed = time.process_time() - started
    assert answer.status_code == 200, answer.text
    return elapsed * 1000


def record(runtime: Runtime) -> None:
    """Print the CPU that one more evaluation takes, from opened to completed, in milliseconds."""
    times = []
    for _ in range(60):
        with runtime.db.writing() as session:
            started = time.process_time()
            completed(session)
            times.append((time.process_time() - started) * 1000)
    times.sort()
    print(f"one more evaluation: best {times[0]:.2f}, median {times[30]:.2f} ms")


def write_parts(runtime: Runtime) -> None:
    """Write the parts, as the service does in time, and print how far that is and what it took."""
    database = fact_database(runtime.settings)
    started, count = time.process_time(), 0
    limit = parts.REBUILD_BATCH
    while written := parts.write_pending(runtime.db, database, limit=limit):
        count += written
        print(f"{count:,} facts written into parts", flush=True)
    print(f"{count:,} facts written into parts in {time.process_time() - started:.1f} s of CPU")


def sizes(runtime: Runtime) -> None:
    """Print what the tables of analytics take on disk, with their indexes, and the parts."""
    is_sqlite = runtime.db.engine.dialect.name == "sqlite"
    of_tables = "SELECT name FROM sqlite_master WHERE tbl_name = :name"
    sqlite_size = f"(SELECT sum(pgsize) FROM dbstat WHERE name IN ({of_tables}))"
    size_of = sqlite_size if is_sqlite else "pg_total_relation_size(:name)"
    with runtime.db.reading() as session:
        for table in ("evaluations", "evaluation_facts"):
            counted = text(f"SELECT count(*), {size_of} FROM {table}")
            rows, size = session.execute(counted, {"name": table}).one()
            print(f"{table:24} {rows:10,} rows {size / 1e6:8.1f} MB")
    files = [*(runtime.settings.data_dir / "analytics").glob("*.parquet")]
    size = sum(file.stat().st_size for file in files)
    print(f"{'parts':24} {len(files):10,} files {size / 1e6:7.1f} MB")


def ids_of(runtime: Runtime) -> dict[str, list[str]]:
    """Return the ids that evaluations refer to, by the prefix of their kind."""
    with runtime.db.reading() as session:
        return {
            prefix: sorted(
                key for key in session.scalars(select(column).distinct()) if key is not None
            )
            for prefix, column in {
                "eng": EvaluationFact.engagement_id,
                "camp": EvaluationFact.campaign_id,
                "cc": EvaluationFact.call_center_id,
                "exec": EvaluationFact.executive_id,
                "sc": EvaluationFact.scorecard_id,
            }.items()
        }


def staged_app(number: int, folder: Path, database_url: str = "") -> Flask:
    """Return the application over a data set in this folder, which is made if it is not there.

    Args:
        database_url: an empty PostgreSQL database of this folder's own, instead of SQLite.
    """
    is_new = not (folder / "master.keys").exists()
    folder.mkdir(parents=True, exist_ok=True)
    if is_new:
        create_key_file(folder)
    settings = Settings(
        data_dir=folder,
        database_url=database_url,
        redis_url="none",
        sqlite_synchronous="NORMAL",
        log_level="WARNING",
        rate_limit_default=RateLimit(1_000_000, 60),
    )
    app = create_app(settings)
    runtime = runtime_of(app)
    if is_new:
        Table.metadata.create_all(runtime.db.engine)
        started = time.process_time()
        Stage(runtime, number, utc_now()).make()
        print(f"{number:,} evaluations made in {time.process_time() - started:.1f} s of CPU")
        if not settings.is_sqlite:
            with runtime.db.writing() as session:
                session.execute(text("ANALYZE"))
    return app


def main(number: int, folder: Path, database_url: str = "") -> None:
    app = staged_app(number, folder, database_url)
    runtime = runtime_of(app)
    ids = ids_of(runtime)
    client = Client(app)
    client.call("GET", "/api/v1/engagements")
    print(f"memory before: {memory_mib():.0f} MiB")
    write_parts(runtime)
    sizes(runtime)
    views(client, ids)
    print(f"memory after: {memory_mib():.0f} MiB")
    record(runtime)


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    main(wanted, Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()), *sys.argv[3:4])
