"""The history of the tables; a package, so that a wheel can bring a database up to date."""
