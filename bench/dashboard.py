"""Dashboard benchmark: the time of each page next to its limit.

`python -m bench.dashboard [evaluations] [folder] [URL]`; the data set is that of `bench.analytics`,
kept in the folder, if one is named, and used again. With the URL of an empty PostgreSQL database it
is made there. Requests are whole ones in this process; their times are CPU, so that a busy machine
doesn't matter: the first, the best and the median of seven, in milliseconds; then the median of the
time that passed, in which PostgreSQL works. The sizes are those of the page, compressed as browsers
get it.
"""

import re
import sys
import tempfile
import time
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from app.core.runtime import Runtime
from app.dashboard.install import compile_templates
from app.evaluations import jobs
from app.people import service as people
from app.web.current import runtime_of
from bench import week
from bench.analytics import Client, ids_of, staged_app, write_parts
from tests.contacts import HELPFUL, chat
from tests.visitor import PASSWORD, add_user

ORIGIN = "http://127.0.0.1"
TIMES = 7
TURNS = (9, 405, 900)
MOST_PAGE_KB = 30


def pages(executive_id: str) -> dict[str, tuple[str, int]]:
    """Return the address of each page, and how many milliseconds it may take."""
    return {
        "list, 30 days": ("/evaluations", 60),
        "list, 30 days, one filter": ("/evaluations?channel=chat", 60),
        "list, all time, one filter": ("/evaluations?days=all&channel=chat", 250),
        "overview": ("/", 250),
        "queue of reviews": ("/review", 100),
        "executives": ("/executives", 250),
        "one executive": (f"/executives/{executive_id}", 250),
        "trend": ("/trends", 250),
        "trend of executives, a year": ("/trends?groupBy=executive&days=365", 500),
        "topics": ("/topics", 250),
        "progress": ("/live/progress?ids=", 15),
    }


def evaluation_pages(app: Flask) -> dict[str, tuple[str, int]]:
    """Return the pages of judged chats of several lengths, each with the time that it may take."""
    client, paths = Client(app), {}
    for turns in TURNS:
        lines = [HELPFUL[place % len(HELPFUL)] for place in range(turns)]
        messages = [{"role": role, "text": text} for role, text in lines]
        target = f"/api/v1/imports/conversations/bench-{turns}"
        answer = client.call("PUT", target, chat(messages=messages))
        paths[f"evaluation of {turns} messages"] = (
            f"/evaluations/{answer.get_json()['data']['evaluationId']}",
            50,
        )
    jobs.judge(runtime_of(app))
    return paths


def signed_in(client: FlaskClient, runtime: Runtime, role: str = "admin", **teams: str) -> None:
    """Sign in as a new person."""
    name = f"bench-{time.time_ns()}"
    user_id = add_user(runtime, role, name)
    with runtime.db.writing() as session:
        people.change_role(session, people.get(session, user_id), role, **teams)
    form = client.get("/sign-in", base_url=ORIGIN).text
    token = re.search(r'name="form_token" value="([^"]+)"', form)
    data = {"name": name, "password": PASSWORD, "form_token": token[1] if token else ""}
    headers = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
    answer = client.post("/sign-in", data=data, headers=headers, base_url=ORIGIN)
    assert answer.status_code == 303, answer.text


def timed(client: FlaskClient, path: str) -> tuple[float, float, int]:
    """Return the CPU and the time that a page takes, in milliseconds, and its size in bytes."""
    began, started = time.perf_counter(), time.process_time()
    answer = client.get(path, base_url=ORIGIN, headers={"Accept-Encoding": "gzip"})
    spent, passed = time.process_time() - started, time.perf_counter() - began
    assert answer.status_code == 200, (path, answer.status_code)
    return spent * 1000, passed * 1000, len(answer.data)


def measure(client: FlaskClient, timed_pages: dict[str, tuple[str, int]]) -> None:
    """Print the times of pages as one person sees them."""
    for name, (path, budget_ms) in timed_pages.items():
        runs = [timed(client, path) for _ in range(TIMES)]
        times, size = [spent for spent, _, _ in runs], runs[0][2]
        median = sorted(times)[TIMES // 2]
        passed = sorted(passed for _, passed, _ in runs)[TIMES // 2]
        verdict = "" if median <= budget_ms and size <= MOST_PAGE_KB * 1000 else "OVER"
        print(
            f"{name:30} {times[0]:6.0f} {min(times):6.0f} {median:6.0f} of {budget_ms} ms, "
            f"{passed:6.0f} ms passed, "
            f"{size / 1000:5.1f} KB {verdict}",
            flush=True,
        )


def main(number: int, folder: Path, database_url: str = "") -> None:
    app = staged_app(number, folder, database_url)
    runtime = runtime_of(app)
    write_parts(runtime)
    compile_templates(app)
    ids = ids_of(runtime)
    executive_id = ids["exec"][50]
    played = week.played(runtime, ids)
    admin, agent = app.test_client(), app.test_client()
    signed_in(admin, runtime)
    measure(admin, {**pages(executive_id), **evaluation_pages(app)})
    # Some pages ask for the password again ten minutes after a sign-in.
    signed_in(admin, runtime)
    measure(admin, week.pages(executive_id, played))
    signed_in(agent, runtime, "agent", executive_id=executive_id)
    measure(agent, week.pages_of_agent(executive_id))


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if len(sys.argv) > 2:
        main(count, Path(sys.argv[2]), *sys.argv[3:4])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(count, Path(temporary))
