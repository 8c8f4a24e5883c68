"""How the service is run: one command, its processes, its queue server, its database files."""
