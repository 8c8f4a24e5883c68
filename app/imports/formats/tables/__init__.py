"""Tables in CSV: their header, columns, rows and local times."""
