"""State of the service: its parts, the checks of the installation, and the open work."""
