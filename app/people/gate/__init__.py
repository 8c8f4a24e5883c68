"""Admission of requests to pages: the session cookie, forgery checks and the person's scopes."""
