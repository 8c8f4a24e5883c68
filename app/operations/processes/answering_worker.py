"""Gunicorn worker that answers a request; when and in which thread, its subclass says."""

import time
from datetime import timedelta
from typing import Any

from gunicorn.errors import ConfigError  # type: ignore[import-untyped]
from gunicorn.http import wsgi  # type: ignore[import-untyped]
from gunicorn.http.errors import NoMoreData  # type: ignore[import-untyped]
from gunicorn.workers.base import Worker  # type: ignore[import-untyped]

from app.core.ids import new_id
from app.operations.processes.client_connection import ClientConnection
from app.operations.processes.refusals import answer_of, error_of


class AnsweringWorker(Worker):  # type: ignore[misc]
    """Process that calls the application for a request, or refuses it."""

    alive: bool  # gunicorn's: False when the process is to end

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Refuse TLS settings: TLS belongs to a proxy in front.

        Raises:
            ConfigError: a certificate is set.
        """
        if cfg.is_ssl:
            raise ConfigError("This web server speaks plain HTTP: end TLS at a proxy in front.")

    def answer(self, connection: ClientConnection) -> None:
        """Serve the request that has arrived, and send its answer unless that waits for the disk."""
        connection.begin_answer()
        keep = False
        try:
            request = next(connection.parser)
            is_chunked = any(name == "TRANSFER-ENCODING" for name, _ in request.headers)
            if is_chunked or not connection.sock.is_complete:
                # The rest of a refused body is not waited for: the answer has to say so.
                request.force_close()
            keep = self._call_application(request, connection) and connection.parser.finish_body()
        except (StopIteration, NoMoreData, OSError) as error:
            self.log.debug("A connection ended: %s", error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer
            self._refuse(connection, error)
        connection.end_answer(keep=keep)

    def _call_application(self, request: Any, connection: ClientConnection) -> bool:
        """Call Flask; return whether the connection can serve another request."""
        started = time.monotonic()
        client, server = connection.client, connection.server
        response, environ = wsgi.create(request, connection.sock, client, server, self.cfg)
        environ["wsgi.multithread"] = True
        self._count_request()
        if not self.alive:
            response.force_close()
        body = self.wsgi(environ, response.start_response)
        try:
            for part in body:
                response.write(part)
            response.close()
        except Exception as error:
            if response.headers_sent:
                # A second answer would look like a part of this one.
                self.log.exception("An answer could not be finished")
                raise ConnectionAbortedError from error
            raise
        finally:
            duration = timedelta(seconds=time.monotonic() - started)
            self.log.access(response, request, environ, duration)
            if hasattr(body, "close"):
                body.close()
        return not response.should_close()

    def _count_request(self) -> None:
        self.nr += 1
        if self.nr >= self.max_requests and self.alive:
            self.log.info("This web process is replaced after %s requests", self.nr)
            self.alive = False

    def _refuse(self, connection: ClientConnection, failure: Exception) -> None:
        try:
            error, request_id = error_of(failure), new_id("req")
            known, client = {"request_id": request_id}, (connection.client or ("",))[0]
            if error.status < 500:
                self.log.warning("An invalid request from %s: %s", client, failure, extra=known)
            else:
                self.log.error("A request failed", exc_info=failure, extra=known)
            connection.sock.sendall(answer_of(error, request_id))
        except Exception:
            # It would end the process, with all its connections.
            self.log.exception("A request could not be answered")
