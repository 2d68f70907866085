"""One installation on this machine: its files (`files.py`), its running daemon (`instance.py`), and starting one (`launch.py`).

Commands, the pipe and the daemon share it. It loads nothing beyond the standard library.
"""
