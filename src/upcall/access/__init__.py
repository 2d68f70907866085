"""Who a caller is: tokens, browser sessions, one-time codes, signed values, and the agent sessions that are connected now.

It knows records in a store and roles; it knows neither HTTP nor any door. Begin with `tokens.py`.
"""
