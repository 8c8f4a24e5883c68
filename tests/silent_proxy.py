"""A TCP proxy whose network can fail: packets that arrive are dropped, as behind a dead router."""

import ctypes
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Of <linux/socket.h> and <linux/filter.h>: a packet filter whose only instruction keeps no byte.
_ATTACH_FILTER, _DETACH_FILTER = 26, 27
_RETURN_CONSTANT = 0x06
_DROP_ALL = ctypes.create_string_buffer(struct.pack("HBBI", _RETURN_CONSTANT, 0, 0, 0))


class SilentProxy:
    """Passes connections on to a server until it falls silent."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._clients: list[socket.socket] = []
        self._is_mute = False
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def fall_silent(self) -> None:
        """Drop what arrives from now on; nothing is acknowledged, no connection is accepted."""
        self._set_option(_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(_DROP_ALL)))

    def mute(self) -> None:
        """End all connections; accept new ones, read them, and never answer."""
        self._is_mute = True
        for client in self._clients:
            with suppress(OSError):  # closed meanwhile
                client.shutdown(socket.SHUT_RDWR)

    def recover(self) -> None:
        """Pass packets again."""
        self._is_mute = False
        self._set_option(_DETACH_FILTER, 0)

    def _set_option(self, option: int, value: int | bytes) -> None:
        for each in (self._listener, *self._clients):
            with suppress(OSError):  # closed meanwhile
                each.setsockopt(socket.SOL_SOCKET, option, value)

    def close(self) -> None:
        """Close the port and all connections."""
        for each in (self._listener, *self._clients):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._clients.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self._is_mute:
            with suppress(OSError), client:
                while client.recv(65536):
                    pass
            return
        refused = suppress(ConnectionRefusedError)  # by a server that is restarting
        with client, refused, socket.create_connection(self._server) as server:
            back = threading.Thread(target=_pass, args=(server, client), daemon=True)
            back.start()
            _pass(client, server)
            back.join()


@contextmanager
def silent_proxy(host: str, port: int) -> Iterator[SilentProxy]:
    """Run a proxy in front of a server."""
    proxy = SilentProxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()


def _pass(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
