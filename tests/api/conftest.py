"""Fixtures that several tests of the API and of its pages share."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

import pytest
import time_machine

from app.core.runtime import Runtime
from tests.visitor import Visitor, signed_in


@pytest.fixture
def visit(base: str, runtime: Runtime) -> Callable[[str], Visitor]:
    """Return a visitor who has signed in with a role; the name is the role."""
    return partial(signed_in, base, runtime)


@pytest.fixture
def in_november() -> Iterator[None]:
    """Begin a few days after the conversations of `tests.contacts`: pages show the last 30 days."""
    with time_machine.travel(datetime(2026, 11, 29, 12, tzinfo=UTC)):
        yield
