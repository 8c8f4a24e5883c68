"""Schemas of reports, agreement and exports."""
