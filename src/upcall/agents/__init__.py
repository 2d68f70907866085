"""Agents' programs: how each is started with our door in its hands, read and resumed. Nothing here starts one."""
