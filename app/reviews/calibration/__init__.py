"""Calibration: scores of an engagement are mapped to those that its people would give."""
