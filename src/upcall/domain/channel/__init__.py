"""Routing, rendering rules and delivery records: the values between the core and every channel."""
