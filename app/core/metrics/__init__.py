"""Metrics for Prometheus: counts of requests, and the server that exposes them."""
