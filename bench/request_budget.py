"""Processor time of a signed request by part, within the application.

python -m bench.request_budget [--requests 400] [--rows 10000]
"""

import argparse
import cProfile
import io
import pstats
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from app.core.settings import Settings
from app.factory import create_app
from bench.api import BODY, HELLO, prepare
from bench.load import reference
from bench.service import Signer, environment_of

ROUNDS = 9
# The parts of a request, by the file and the function that do them; an earlier part contains no later one.
PARTS = {
    "limits, nonce, counts": ("request_limits/state.py", "visit"),
    "key, signature, scope": ("api_keys/authentication.py", "_before_request"),
    "arguments": ("webargs/core.py", "parse"),
    "database": ("engagements/routes.py", ""),
    "answer as JSON": ("web/api.py", "_render"),
    "headers of the answer": ("flask/app.py", "process_response"),
}
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Stats = dict[tuple[str, int, str], tuple[int, int, float, float, Any]]


def main() -> None:
    """Print a table for each kind of request."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--requests", type=int, default=400)
    options.add_argument("--rows", type=int, default=10_000)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        key, one = prepare(Path(folder), chosen.rows)
        environment = environment_of(Path(folder), CQE_REDIS_URL="none")
        service = create_app(Settings.from_env(environment))
        signed = Signer(key)
        bare = measure(reference, lambda: HELLO, chosen.requests)
        print(f"{'bare Flask route':28}{bare:8.0f} µs")
        for name, build in (
            ("GET list of 25", lambda: signed("GET", "/api/v1/engagements")),
            ("GET one", lambda: signed("GET", one)),
            ("POST one", lambda: signed("POST", "/api/v1/engagements", BODY)),
        ):
            total = measure(service, build, chosen.requests)
            print(f"\n{name:28}{total:8.0f} µs")
            for part, share in shares(service, build, chosen.requests).items():
                print(f"  {part:26}{share * total:8.0f} µs{share:7.0%}")


def measure(application: Wsgi, build: Callable[[], bytes], requests: int) -> float:
    """Return the microseconds of one request, the least of some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        environments = [wsgi_environment(build()) for _ in range(requests)]
        began = time.thread_time()
        for environment in environments:
            call(application, environment)
        rounds.append((time.thread_time() - began) / requests * 1_000_000)
    return min(rounds)


def shares(application: Wsgi, build: Callable[[], bytes], requests: int) -> dict[str, float]:
    """Return the share of each part, as a profiler sees it; the rest is Flask's."""
    environments = [wsgi_environment(build()) for _ in range(requests)]
    profile = cProfile.Profile(time.thread_time)
    profile.enable()
    for environment in environments:
        call(application, environment)
    profile.disable()
    stats: Stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    total = seconds(stats, "request_budget.py", "call")
    found = {part: seconds(stats, *place) / total for part, place in PARTS.items()}
    found["key, signature, scope"] -= found["limits, nonce, counts"]
    found["Flask, routing, envelope"] = 1 - sum(found.values())
    return found


def seconds(stats: Stats, file: str, function: str) -> float:
    """Return the time within the functions of a file of this name; of any name if it is empty."""
    return sum(
        cumulative
        for (path, _, name), (_, _, _, cumulative, _) in stats.items()
        if path.endswith(file) and function in ("", name)
    )


def wsgi_environment(request: bytes) -> dict[str, Any]:
    """Return what a web server makes of the bytes of a request."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, target, protocol = first.split(" ")
    environment: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "RAW_URI": target,
        "PATH_INFO": target,
        "QUERY_STRING": "",
        "SCRIPT_NAME": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": protocol,
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
    }
    for line in lines:
        name, _, value = line.partition(": ")
        key = name.upper().replace("-", "_")
        environment[key if key.startswith("CONTENT_") else f"HTTP_{key}"] = value
    return environment


def call(application: Wsgi, environment: dict[str, Any]) -> None:
    """Run one request to the last byte of its answer."""
    statuses: list[str] = []
    answer = application(environment, lambda status, *_: statuses.append(status))
    b"".join(answer)
    if statuses[0][0] != "2":
        raise SystemExit(f"unexpected answer: {statuses[0]}")
    close = getattr(answer, "close", None)
    if close is not None:
        close()


if __name__ == "__main__":
    main()
