"""Process plumbing: stop signals, process identity, heartbeat, logging and file locks."""
