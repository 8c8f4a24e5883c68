"""Gunicorn configuration: `gunicorn -c python:app.operations.gunicorn_config wsgi:app`."""

from app.core.process import log
from app.operations.environment import settings_here
from app.operations.processes.web import GUNICORN_OPTIONS, threads_of

_settings = settings_here()
log.configure(_settings.log_level, _settings.log_format)

bind = [f"{_settings.host}:{_settings.port}"]
workers = _settings.workers
threads = threads_of(_settings)
globals().update(GUNICORN_OPTIONS)
