"""Settings: `upcall.toml`, `UPCALL_…` variables and presets, read once into frozen values.

It knows no part that uses a setting. Begin with `settings.py`.
"""
