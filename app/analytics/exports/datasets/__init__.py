"""Datasets of exports, each with its columns and its rows."""
