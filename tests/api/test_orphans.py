"""Orphaned objects after a crash: adopted if a row expects them, deleted otherwise."""

import io
import os
import time
from datetime import timedelta

import pytest
from sqlalchemy import update

from app.analytics import jobs as exports
from app.audio_files import jobs
from app.audio_files.models import AudioFile
from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.operations import background_work
from app.privacy import jobs as erasures
from app.privacy import service
from tests.caller import Caller
from tests.recordings import reserve, show, stored_file, upload
from tests.running import running_runtime

pytestmark = pytest.mark.sql


def left_behind(runtime: Runtime, object_id: str) -> str:
    """Write an object as a process does that is killed before it has noted it."""
    runtime.storage.write(object_id, io.BytesIO(b"bytes"), size_bytes=5)
    return object_id


def sweep(runtime: Runtime) -> int:
    return sum(
        background_work.delete_orphans(runtime, part)
        for part in range(background_work.ORPHAN_PARTS)
    )


def test_what_nothing_keeps_is_deleted_after_a_day(client: Caller, runtime: Runtime) -> None:
    kept, erased = upload(client, b"kept"), upload(client, b"erased")
    waiting, late = reserve(client, 5)["audioFileId"], reserve(client, 5)["audioFileId"]
    with runtime.db.writing() as session:
        service.erase_recordings(session, [erased])
        session.execute(
            update(AudioFile)
            .where(AudioFile.id == late)
            .values(expires_at=utc_now() - timedelta(seconds=1))
        )
    erasures.purge_bytes(runtime)
    jobs.expire_uploads(runtime)
    assert show(client, late)["status"] == "expired"
    asked = client.post("/analytics/export", {"dataset": "usage", "format": "csv"}).json()["data"]
    exports.run_export(running_runtime(), asked["jobId"])
    offered = {
        object_id for object_id in runtime.storage.object_ids() if object_id.startswith("exp_")
    }
    assert len(offered) == 1

    half = left_behind(runtime, f"{asked['jobId']}_0123456789ab")
    restored = left_behind(runtime, new_id("aud"))
    left_behind(runtime, late)
    left_behind(runtime, erased)
    assert sweep(runtime) == 0
    assert show(client, late)["status"] == "uploaded"
    everything = {kept, late, erased, half, restored, *offered}
    assert {*runtime.storage.object_ids()} == everything

    long_ago = time.time() - 90_000
    for object_id in everything:
        os.utime(stored_file(runtime, object_id) or "", (long_ago, long_ago))
    assert sweep(runtime) == 2
    assert {*runtime.storage.object_ids()} == everything - {half, erased}
    assert show(client, waiting)["status"] == "pending_upload"
