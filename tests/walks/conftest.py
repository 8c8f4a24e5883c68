"""Fixtures that several walks share."""

from tests.webhook_harness import harness, make_harness, receiver

__all__ = ["harness", "make_harness", "receiver"]
