"""Notifications of a Linux desktop, over D-Bus."""
