"""Every service that Apprise reaches, one way."""
