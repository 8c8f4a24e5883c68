"""Metrics for Prometheus: counted by every process of a host, served by one of them."""
