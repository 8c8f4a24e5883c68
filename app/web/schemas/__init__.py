"""Schemas of requests and answers: base classes, fields, messages and serialisation."""
