"""Schemas of reviews, agreement, calibration rounds and calibration profiles."""
