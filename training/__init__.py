"""Training of the embedded judge's models. The service never imports it."""
