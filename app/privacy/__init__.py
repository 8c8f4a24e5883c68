"""Privacy: erasure of texts and recordings, on request and after the retention periods."""
