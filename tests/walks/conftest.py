"""Fixtures that several walks share."""

from tests.sending import desk, make_desk, receiver

__all__ = ["desk", "make_desk", "receiver"]
