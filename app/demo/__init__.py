"""The demo: a small call centre to look around in, written by us and judged by the real engines."""
