"""Calibration: what people's own scores teach about the judge's, one profile an engagement."""
