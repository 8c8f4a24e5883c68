"""Datasets: what may be exported, each with its columns and the way its rows are read."""
