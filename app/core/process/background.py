"""Settings of a process that works in bulk: its priority, and how often garbage is collected."""

import gc
import os

_NICENESS = 5
# Reading, judging and storing make many objects and hardly any cycles, which Python would look for after
# every 700 objects.
_OBJECTS = 10_000


def give_way() -> None:
    """Run at a lower priority than the processes that answer requests."""
    os.nice(_NICENESS)
    collect_rarely()


def collect_rarely() -> None:
    """Look for garbage in cycles less often."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
