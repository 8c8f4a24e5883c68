"""Detectors: each finds some types of personal data in a turn or in a run of digits."""
