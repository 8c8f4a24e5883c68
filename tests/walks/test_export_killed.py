"""An export over a real queue, whose worker is killed in the middle."""

import hashlib
import io
import os
import signal
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from app.analytics import jobs
from app.analytics.models import ExportJob
from app.core.jobs.leases import JobState
from app.core.runtime import Runtime
from tests.caller import Caller
from tests.evaluation_rows import rows_of
from tests.queue_server import running_queue_server
from tests.running import running_runtime
from tests.waiting import PATIENCE_S, wait_until
from tests.walks.service_process import ServiceProcess

ROWS = 1500


def killed_at_work(runtime: Runtime, job_id: str) -> bool:
    """Kill the process that works on the export; False when that has ended already.

    Nobody ends an export while a transaction writes: so what is killed is in the middle.
    """
    state, until = JobState.QUEUED, time.monotonic() + PATIENCE_S
    while state == JobState.QUEUED:
        assert time.monotonic() < until
        with runtime.db.writing() as session:
            job = session.get_one(ExportJob, job_id)
            state = JobState(job.state)
            if state == JobState.RUNNING:
                os.kill(int(str(job.lease_owner).split(":")[1]), signal.SIGKILL)
                return True
        time.sleep(0.002)
    return False


def test_a_killed_export_is_made_anew_and_no_half_file_is_offered(
    serve: Callable[..., str], make_caller: Callable[..., Caller], data_dir: Path
) -> None:
    with running_queue_server() as queue:
        client = make_caller(serve(redis_url=queue.url))
        runtime = running_runtime()
        rows_of(runtime, *({} for _ in range(ROWS)))
        worker = ServiceProcess(
            data_dir,
            "worker",
            CQE_REDIS_URL=queue.url,
            CQE_DATABASE_URL=runtime.settings.effective_database_url,
        )
        try:
            killed = False
            while not killed:
                asked = {"dataset": "evaluations", "format": "xlsx"}
                job_id = client.post("/analytics/export", asked).json()["data"]["jobId"]
                killed = killed_at_work(runtime, job_id)
            half = client.get(f"/analytics/export/{job_id}").json()["data"]
            assert half["downloadUrl"] is None
            address = f"/analytics/export/{job_id}"
            wait_until(lambda: client.get(address).json()["data"]["status"] == "ready")
        finally:
            worker.end()
        done = client.get(address).json()["data"]
        content = client.plain("GET", done["downloadUrl"].removeprefix(client.base)).content
        assert hashlib.sha256(content).hexdigest() == done["sha256"]
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            sheet = book.read("xl/worksheets/sheet1.xml").decode()
        assert sheet.count("<row ") == done["rowCount"] + 1 == ROWS + 1
        jobs.clear_spool(runtime)
        assert len([*runtime.storage.object_ids()]) == 1
        assert [*(data_dir / "spool").iterdir()] == []
