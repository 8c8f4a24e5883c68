"""Pages about access and operation, mostly for admins."""
