"""Pages of signing in: with a password and a second factor, with a provider, and through a proxy."""
