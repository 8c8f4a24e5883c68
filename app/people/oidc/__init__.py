"""Sign-in with the account of a provider (OpenID Connect)."""
