"""Gunicorn configuration: `gunicorn -c python:app.operations.gunicorn_config wsgi:app`."""

from app.operations.environment import settings_here
from app.operations.processes.web import GUNICORN_OPTIONS, threads_of

_settings = settings_here()

bind = [f"{_settings.host}:{_settings.port}"]
workers = _settings.workers
threads = threads_of(_settings)
globals().update(GUNICORN_OPTIONS)
