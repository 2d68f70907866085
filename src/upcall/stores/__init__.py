"""Where inquiries are kept. SQLite is built in; the contract that any other must pass is in `upcall.testing`."""
