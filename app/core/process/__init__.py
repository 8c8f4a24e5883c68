"""Process plumbing: stop requests, process identity, priority, logs and traces."""
