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
# Sound that the last frame may add behind the limit, and room for the report.
_FILE_SLACK_BYTES = 1 << 20
_CPU_SLACK_S = 5


def confine(limits: DecodingLimits, *, parent_pid: int) -> None:
    """Bind this process to its limits, and to the life of the process that started it.

    Everything must be imported and opened before: no descriptor can be opened afterwards, neither
    a file nor a socket.
    """
    if sys.platform == "linux":
        # Not allowed in every container; the bound on descriptors holds there as well.
        ctypes.CDLL(None).unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
        _bound(resource.RLIMIT_AS, limits.memory_bytes)
    follow(parent_pid, with_signal=SIGKILL)
    spool_bytes = limits.channel_samples * SAMPLE_BYTES
    # The spool lowers the soft limit, whose signal tells the reason; the hard one only kills.
    _bound(resource.RLIMIT_CPU, int(limits.cpu_allowance_s(spool_bytes)) + _CPU_SLACK_S)
    _bound(resource.RLIMIT_FSIZE, spool_bytes + _FILE_SLACK_BYTES)
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_NOFILE, 0)


def _bound(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))
