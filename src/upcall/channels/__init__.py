"""Where people answer: one module per vendor, each behind the same protocol."""
