"""Re-evaluations of many in processes of their own that are stopped or killed in the middle."""

import json
from collections import Counter

from sqlalchemy import func, select

from app.analytics.engine import rebuilding
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.evaluations import jobs as evaluations
from app.evaluations.models import Evaluation, EvaluationJob, EvaluationTotal
from app.imports.jobs import run_import
from app.wiring import build_runtime
from tests.caller import Caller
from tests.contacts import get, judge
from tests.forked import ForkedProcess
from tests.happenings import happened
from tests.own_scorecards import create
from tests.waiting import wait_until
from tests.walks.service_process import environment

NUMBER = 40
SAID = [
    {
        "role": "customer",
        "text": "Hello, my parcel has not arrived and I am worried about it; can you look?",
    },
    {"role": "agent", "text": "Good morning! I will send it again today. Anything else I can do?"},
]


def completed(runtime: Runtime) -> int:
    with runtime.db.reading() as session:
        again = select(func.count()).where(
            Evaluation.revision == 2, Evaluation.status == "completed"
        )
        return session.scalar(again) or 0


def judge_all(settings: Settings) -> None:
    evaluations.judge(build_runtime(settings))


def killed_at(runtime: Runtime, number: int) -> int:
    """Run a worker until so many are judged again, then kill it; how many there are."""
    settings = runtime.settings
    log = settings.data_dir / "judging.log"
    process = ForkedProcess(
        judge_all, settings, environment=environment(settings.data_dir), output=log
    )
    try:
        wait_until(lambda: completed(runtime) >= number or process.poll() is not None)
    finally:
        process.kill()
    assert process.returncode == -9, log.read_text()
    return completed(runtime)


def states(runtime: Runtime) -> list[str]:
    with runtime.db.reading() as session:
        return list(session.scalars(select(EvaluationJob.state)))


def test_a_killed_re_evaluation_goes_on_and_does_nothing_twice(
    client: Caller, runtime: Runtime
) -> None:
    lines = [json.dumps({"externalId": f"c{n}", "messages": SAID}) for n in range(NUMBER)]
    client.post("/imports", {"content": "\n".join(lines)})
    run_import(runtime, "")
    judge()
    own = create(client, minimum={"words": 1, "judgedWeightPercent": 0})["id"]
    body = {"filters": {}, "scorecardId": own}
    started = client.post("/re-evaluations", body).json()["data"]
    assert started["count"] == NUMBER
    first = killed_at(runtime, 1)
    second = killed_at(runtime, first + 1)
    assert 0 < first < second < NUMBER
    judge()
    counts = get(client, f"/re-evaluations/{started['id']}")["counts"]
    assert counts["completed"] == counts["selected"] == NUMBER
    with runtime.db.reading() as session:
        sources = Counter(session.scalars(select(Evaluation.source_id)))
        totals = dict(session.execute(select(EvaluationTotal.kind, EvaluationTotal.quantity)).all())
        assert list(rebuilding.fact_differences(session)) == []
    assert set(sources.values()) == {2}
    assert totals == {"all": 2 * NUMBER, "current": NUMBER}
    assert happened(runtime).count("evaluation.completed") == 2 * NUMBER
    assert {each["score"] for each in get(client, "/evaluations", pageSize=100)} == {100}
