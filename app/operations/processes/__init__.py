"""Processes of the service: the supervisor, the children that it keeps alive, and their output."""
