"""Upcall: the broker between headless coding agents and their people."""

__version__ = "0.2.0"
