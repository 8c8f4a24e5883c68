"""CPU time of the reports of analytics over millions of evaluations in PostgreSQL.

`python -m bench.analytics_size URL FOLDER [evaluations]`; the database is filled if it is empty. Only the
facts are made, by PostgreSQL itself. Parts are in the folder.
"""

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy import func, select, text, update

from app.analytics.engine import database as tables
from app.analytics.engine import facts, parts
from app.analytics.engine.database import FactDatabase, fact_database
from app.analytics.models import EvaluationFact, ScoreLayout
from app.core.clock import utc_now
from app.core.database.session import Table, UtcDateTime
from app.core.runtime import Runtime
from app.core.secrets.encryption import KEY_FILE, create_key_file
from app.core.setting_parsers import RateLimit
from app.core.settings import Settings
from app.directory.models import Executive
from app.engagements.models import Engagement
from app.evaluations.enums import RESOLUTIONS, TRENDS
from app.factory import create_app
from app.web.current import runtime_of
from bench.analytics import Client, timed
from bench.analytics_stage import CRITERIA, DAYS, SECTIONS
from bench.service import memory_mib

ENGAGEMENTS, CAMPAIGNS, CALL_CENTERS, EXECUTIVES, TOPICS = 20, 100, 20, 2_000, 40
STEP = 500_000
SCORES = ", ".join(["floor(random() * 3) * 50"] * (CRITERIA + SECTIONS))


def sql_list(values: Sequence[str]) -> str:
    return ", ".join(f"'{value}'" for value in values)


# Skewed, so that some people, campaigns and topics have far more than others.
FACTS = f"""
INSERT INTO evaluation_facts (
  source_id, source_type, evaluation_id, status, channel, engagement_id, campaign_id,
  call_center_id, executive_id, scorecard_id, conversation_at, created_at, completed_at, score, passed,
  auto_failed, compliance_score, customer_sentiment, sentiment_trend, resolution,
  duration_seconds, talk_ratio, silence_percent, dead_air_count, interruptions, agent_wpm,
  first_response_seconds, topics, score_layout_id, scores, version, is_pending)
SELECT 'conv_' || n, 'conversation', 'eval_' || n, 'completed', 'chat',
  'eng_' || lpad((n % {ENGAGEMENTS})::text, 26, '0'), 'camp_' || floor(power(random(), 2) * {CAMPAIGNS}),
  'cc_' || (n % {CALL_CENTERS}), 'exec_' || lpad(floor(power(random(), 2) * {EXECUTIVES})::text, 26, '0'), 'sc_1',
  moment, moment, moment + interval '1 second', score, score >= 70, score < 40,
  round((60 + 40 * random())::numeric, 2), round((2 * random() - 1)::numeric, 4),
  (ARRAY[{sql_list([*TRENDS])}])[1 + floor(random() * {len(TRENDS)})],
  (ARRAY[{sql_list([*RESOLUTIONS])}])[1 + floor(random() * {len(RESOLUTIONS)})],
  20 + floor(800 * random()), random(), 40 * random(), floor(random() * 3), floor(random() * 4),
  110 + 70 * random(), round((200 * random())::numeric, 2),
  json_build_array('topic ' || floor(power(random(), 2) * {TOPICS})),
  :layout, json_build_array({SCORES}), 1, true
FROM (
  SELECT n, :start + n * :apart AS moment, 40 + floor(60 * random()) AS score
  FROM generate_series(CAST(:first AS integer), CAST(:last AS integer)) AS n
) AS made
"""
fact_month = func.to_char(func.timezone("UTC", EvaluationFact.conversation_at), "YYYY-MM")
QUESTIONS = {
    "summary, 30 days": ("summary", 30, {}),
    "summary, a year": ("summary", DAYS, {}),
    "summary of one engagement, a year": ("summary", DAYS, {"engagementId": f"eng_{1:026d}"}),
    "executives, 30 days": ("executives", 30, {}),
    "executives, a year": ("executives", DAYS, {}),
    "trend, a year": ("trends", DAYS, {}),
    "trend of campaigns in Kolkata, a year": (
        "trends",
        DAYS,
        {"groupBy": "campaign", "timezone": "Asia/Kolkata"},
    ),
}


def fill(runtime: Runtime, number: int) -> None:
    """Make the facts, and what they refer to."""
    Table.metadata.create_all(runtime.db.engine)
    now = utc_now()
    stamps = {"created_at": now, "updated_at": now}
    kinds = [("criterion", CRITERIA), ("section", SECTIONS)]
    columns = [
        {"kind": kind, "key": f"{kind}_{place}", "title": f"{kind} {place}", "section": "s"}
        for kind, count in kinds
        for place in range(count)
    ]
    with runtime.db.writing() as session:
        layout = ScoreLayout(digest="bench", columns=columns)
        session.add(layout)
        session.add_all(
            Executive(id=f"exec_{place:026d}", name=f"Agent {place}", kind="human", **stamps)
            for place in range(EXECUTIVES)
        )
        session.add_all(
            Engagement(id=f"eng_{place:026d}", name=f"Engagement {place}", type="qa", **stamps)
            for place in range(ENGAGEMENTS)
        )
        session.flush()
        layout_id = layout.id
    given = {
        "start": now - timedelta(days=DAYS),
        "apart": timedelta(days=DAYS) / number,
        "layout": layout_id,
    }
    for first in range(0, number, STEP):
        with runtime.db.writing() as session:
            last = min(first + STEP, number) - 1
            session.execute(text(FACTS), {**given, "first": first, "last": last})
        print(f"{last + 1:,} facts", flush=True)


def write_parts(runtime: Runtime) -> None:
    """Write the parts of the months with pending facts, each at once, which takes more memory."""
    database = FactDatabase(replace(runtime.settings, analytics_memory_mb=2048))
    pending = select(fact_month.distinct()).where(EvaluationFact.is_pending)
    with runtime.db.reading() as session:
        score_count = facts.widest(facts.all_layouts(session))
        months = sorted(session.scalars(pending))
    for month in months:
        file = database.folder / "month.csv"
        copy_month(runtime, month, file)
        with closing(database.cursor()) as cursor:
            tables.create_table(cursor, "changed", score_count=score_count)
            cursor.execute(
                "INSERT INTO changed "
                "SELECT * EXCLUDE (topics, scores), CAST(topics::JSON AS VARCHAR[]), "
                f"{', '.join(f'(scores::JSON)[{place}]' for place in range(score_count))} "
                f"FROM read_csv('{file}', names = {[*tables.FACT_COLUMNS]}, all_varchar = true)"
            )
            part = parts.write_part(cursor, database.folder, month, None)
        file.unlink()
        with runtime.db.writing() as session:
            parts.register(session, month, part)
            written = update(EvaluationFact).where(fact_month == month)
            session.execute(
                written.values(part=month, is_pending=False),
                execution_options={"synchronize_session": False},
            )
        with runtime.db.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("VACUUM ANALYZE evaluation_facts"))
        print(f"part of {month}", flush=True)


def copy_month(runtime: Runtime, month: str, file: Path) -> None:
    """Write the facts of a month into a file, with the columns of parts."""
    columns = [
        func.timezone("UTC", column) if isinstance(column.type, UtcDateTime) else column
        for column in tables.fact_columns()
    ]
    query = select(*columns).where(fact_month == month)
    rows = query.compile(runtime.db.engine, compile_kwargs={"literal_binds": True})
    with runtime.db.engine.connect() as connection, file.open("wb") as output:
        cursor = connection.connection.cursor()
        with cursor.copy(f"COPY ({rows}) TO STDOUT (FORMAT csv)") as copy:
            output.writelines(copy)


def sizes(runtime: Runtime) -> None:
    """Print what the facts take in PostgreSQL, with their indexes, and the parts."""
    size = text("SELECT pg_total_relation_size('evaluation_facts')")
    with runtime.db.reading() as session:
        count = session.scalar(select(func.count()).select_from(EvaluationFact)) or 0
        print(f"{count:,} facts, {session.scalar(size) / count:.0f} bytes each in rows", end=", ")
        written = parts.registered(session, fact_database(runtime.settings).folder)
    bytes_each = sum(part.size_bytes for part in written) / count
    print(f"{bytes_each:.0f} bytes each in {len(written)} parts", flush=True)


def ask(client: Client, runtime: Runtime) -> None:
    """Print the CPU milliseconds of each question, the first time and remembered."""
    now = utc_now()
    for name, (report, days, filters) in QUESTIONS.items():
        fact_database(runtime.settings).forget()
        start = f"{now - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"
        target = f"/api/v1/analytics/{report}?{urlencode({'from': start, **filters})}"
        times = [timed(client, target) for _ in range(4)]
        print(f"{name:40} first {times[0]:7.0f} ms, then {min(times[1:]):7.0f} ms", flush=True)


def main(url: str, folder: Path, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / KEY_FILE).exists():
        create_key_file(folder)
    settings = Settings(
        data_dir=folder,
        database_url=url,
        redis_url="none",
        log_level="WARNING",
        rate_limit_default=RateLimit(1_000_000, 60),
    )
    app = create_app(settings)
    runtime = runtime_of(app)
    started = time.monotonic()
    with runtime.db.engine.connect() as connection:
        is_empty = not runtime.db.engine.dialect.has_table(connection, "evaluation_facts")
    if is_empty:
        fill(runtime, number)
        print(f"filled in {time.monotonic() - started:.0f} s")
    write_parts(runtime)
    sizes(runtime)
    client = Client(app)
    client.call("GET", "/api/v1/engagements")
    print(f"memory before: {memory_mib():.0f} MiB")
    ask(client, runtime)
    print(f"memory after: {memory_mib():.0f} MiB")


if __name__ == "__main__":
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000_000
    main(sys.argv[1], Path(sys.argv[2]), wanted)
