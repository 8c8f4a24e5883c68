"""Values for templates, computed from what services return; pure functions."""
