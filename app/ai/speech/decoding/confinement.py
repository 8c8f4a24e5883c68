"""Confinement of the decoding process by the kernel, entered before the first byte is read."""

import ctypes
import resource
import sys
from signal import SIGKILL

from app.ai.speech.decoding.limits import DecodingLimits
from app.ai.speech.decoding.output import SAMPLE_BYTES
from app.core.process.stopping import follow

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
# Room for the report.
_FILE_SLACK_BYTES = 1 << 20
_CPU_SLACK_S = 5


def confine(limits: DecodingLimits, *, parent_pid: int) -> None:
    """Limit this process, and end it with the process that started it.

    Call this after all imports: afterwards no descriptor can be opened, neither a file nor a socket.
    """
    if sys.platform == "linux":
        # Not permitted in every container; the limit of descriptors works everywhere.
        ctypes.CDLL(None).unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
        _set_limit(resource.RLIMIT_AS, limits.memory_bytes)
    follow(parent_pid, with_signal=SIGKILL)
    spool_bytes = limits.channel_samples * SAMPLE_BYTES
    # The spool lowers the soft limit. Its signal shows the reason; the hard limit only kills.
    _set_limit(resource.RLIMIT_CPU, int(limits.cpu_allowance_s(spool_bytes)) + _CPU_SLACK_S)
    _set_limit(resource.RLIMIT_FSIZE, spool_bytes + _FILE_SLACK_BYTES)
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_NOFILE, 0)


def _set_limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (limit, limit))
