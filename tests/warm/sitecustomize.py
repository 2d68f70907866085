"""Hands the start of a daemon over to `tests.warm.server`, which forks one that has imported all of it already.

Python imports this in every process of the tests, so it decides with what is loaded anyway.
"""

import os
import sys

_START = ["-P", "-m", "upcall", "up", "--background", "--ready-fd"]
_ADDRESS = os.environ.get("WARM_DAEMONS", "")


def _hand_over(address: str) -> None:
    import json
    import socket

    descriptors = [0, 1, 2, int(sys.orig_argv[7])]
    request = {
        "arguments": sys.orig_argv[4:],
        "cwd": os.getcwd(),  # noqa: PTH109 - pathlib takes long to load
        "environment": dict(os.environ),
        "descriptors": descriptors,
    }
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"."], descriptors)
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        # The daemon has the descriptors once it says so; the command that waits for it reads from one of them.
        if connection.recv(1):
            os._exit(0)


if os.environ.get("WARM_CLOCKS"):
    # Beside this file, which is no package when Python looks for it.
    import importlib

    importlib.import_module("jumping_clock").install()
if _ADDRESS and sys.orig_argv[1:7] == _START:
    _hand_over(_ADDRESS)
