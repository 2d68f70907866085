"""What is to be done in channels: shown, refreshed, reminded of, and what people do there."""
