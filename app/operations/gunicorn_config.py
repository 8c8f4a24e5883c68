"""For `gunicorn -c python:app.operations.gunicorn_config wsgi:app`: `up`'s own web settings."""

from app.operations.environment import settings_here
from app.operations.web_server import SHARED

_settings = settings_here()

bind = [f"{_settings.host}:{_settings.port}"]
workers = _settings.workers
threads = _settings.threads
globals().update(SHARED)
