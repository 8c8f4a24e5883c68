"""Dashboard: pages for people, rendered on the server over the services of the other packages."""
