"""Runtime of the running request or command."""

from flask import Flask, current_app

from app.core.runtime import Runtime

_EXTENSION = "cqe"


def install(app: Flask, runtime: Runtime) -> None:
    app.extensions[_EXTENSION] = runtime


def runtime_of(app: Flask) -> Runtime:
    runtime: Runtime = app.extensions[_EXTENSION]
    return runtime


def current_runtime() -> Runtime:
    return runtime_of(current_app)
