"""Options of gunicorn for the service in a bench; `GUNICORN_OPTIONS` has those of an installation."""

from app.operations.processes.web import GUNICORN_OPTIONS

worker_class = GUNICORN_OPTIONS["worker_class"]
post_fork = GUNICORN_OPTIONS["post_fork"]
