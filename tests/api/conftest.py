"""Fixtures that several tests of the API and of its pages share."""

from collections.abc import Callable
from functools import partial

import pytest

from app.core.runtime import Runtime
from tests.visitor import Visitor, signed_in


@pytest.fixture
def visit(base: str, runtime: Runtime) -> Callable[[str], Visitor]:
    """Return a visitor who has signed in with a role; the name is the role."""
    return partial(signed_in, base, runtime)
