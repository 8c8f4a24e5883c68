"""Views: from the answers of services to the values that templates show."""
