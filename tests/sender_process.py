"""A sender in a process of its own, with settings from CQE_… variables."""

import contextlib
import os
import resource
from pathlib import Path
from typing import Any

from app.core.process import log, stopping
from app.core.settings import Settings
from app.operations.processes.metrics import serve_metrics
from app.webhooks.sender.loop import run_sender
from app.wiring import build_runtime
from tests import commit_halts
from tests.forked import ForkedProcess


class SenderProcess:
    """Starts, kills and stops one sender."""

    def __init__(self, environment: dict[str, str], log_file: Path) -> None:
        self.process = ForkedProcess(send, environment=environment, output=log_file)

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        self.process.kill()

    def stop(self, *, within_s: float = 20) -> int:
        """Ask it to end and return its exit code."""
        self.process.terminate()
        return self.process.wait(within_s)

    def cpu_s(self) -> float:
        """Return the processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def limit_file_size(self, size_bytes: int) -> int:
        """Let it write no file beyond a size, as on a full disk; return the limit before."""
        pid, kind = self.process.pid, resource.RLIMIT_FSIZE
        before, hard = resource.prlimit(pid, kind)
        resource.prlimit(pid, kind, (size_bytes, hard))
        return before

    def listens_on(self) -> list[str]:
        """Return the TCP addresses that it listens on, as the kernel writes them."""
        process = Path(f"/proc/{self.process.pid}")
        sockets = set()
        for each in (process / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                sockets.add(os.readlink(each))
        lines = [
            line.split()
            for table in ("tcp", "tcp6")
            for line in (process / "net" / table).read_text().splitlines()[1:]
        ]
        return [each[1] for each in lines if each[3] == "0A" and f"socket:[{each[9]}]" in sockets]


def environment_of(settings: Settings, **more: Any) -> dict[str, str]:
    """Return the variables that say what the settings of a test say."""
    values = {
        "CQE_DATA_DIR": settings.data_dir,
        "CQE_DATABASE_URL": settings.database_url,
        "CQE_REDIS_URL": settings.redis_url,
        "CQE_WEBHOOK_ALLOWED_CIDRS": ",".join(map(str, settings.webhook_allowed_cidrs)),
        "CQE_WEBHOOK_ALLOW_HTTP": int(settings.webhook_allow_http),
        "CQE_WEBHOOK_CA_BUNDLE": settings.webhook_ca_bundle,
        "CQE_WEBHOOK_RETRY_DELAYS": ",".join(map(str, settings.webhook_retry_delays)),
        "CQE_WEBHOOK_TIMEOUT_SECONDS": settings.webhook_timeout_s,
        "CQE_WEBHOOK_DEACTIVATE_AFTER_SECONDS": settings.webhook_deactivate_after_s,
        "CQE_RATE_LIMIT_KEYS": f"{settings.rate_limit_keys.limit}/{settings.rate_limit_keys.window_s}",
        **more,
    }
    return {name: str(value) for name, value in values.items() if str(value)}


def serve() -> None:
    """Answer Prometheus until SIGTERM."""
    serve_metrics(build_runtime(Settings.from_env(os.environ)))


def send() -> None:
    """Send until SIGTERM."""
    stopping.listen()
    settings = Settings.from_env(os.environ)
    log.configure(settings.log_level, settings.log_format)
    commit_halts.obey(commit_halts.writes("webhook_deliveries"))
    run_sender(build_runtime(settings), stopping.requested)
