"""Upcall: the broker between headless coding agents and their people."""

__version__ = "0.1.0"
