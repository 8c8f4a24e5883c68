"""WSGI application, which `flask` commands in this folder use as well."""

from functools import partial

from flask.cli import NoAppException

from app.cli import register
from app.core.settings import SettingsError
from app.factory import create_app
from app.operations import data_dir
from app.operations.environment import settings_here, warn_of_unknown
from app.operations.failure import CannotRun
from app.operations.processes.fork import call_in_child
from app.operations.start_checks import require_usable
from app.web.current import runtime_of

try:
    _settings = settings_here()
    app = create_app(_settings)
    register(app)
    data_dir.prepare(_settings.data_dir)
    data_dir.lock_shared(_settings.data_dir)
    # In a child: the client of an object storage has threads, which a fork would lose.
    call_in_child(partial(require_usable, runtime_of(app)))()
except (SettingsError, CannotRun) as error:
    # `flask` prints this error in one line and still offers the commands that need no application.
    raise NoAppException(str(error)) from None
warn_of_unknown()
