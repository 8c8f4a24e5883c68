"""Jobs: claims with leases, the runner that works on them, and the thread pool."""
