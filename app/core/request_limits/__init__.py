"""Request limits: rate limits, nonces, call counts and the key version, in Redis or SQLite."""
