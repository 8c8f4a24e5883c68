"""The ground floor: what every room stands on and nothing here knows a room."""
