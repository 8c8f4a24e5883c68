"""Demo: sample data of a small call centre, evaluated like any other data."""
