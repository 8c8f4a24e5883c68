"""Process plumbing: stop signals, process identity, logging and file locks."""
