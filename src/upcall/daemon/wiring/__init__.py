"""The only place where parts meet: settings in, a running broker with its doors and channels out."""
