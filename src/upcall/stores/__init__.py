"""Where inquiries are kept. SQLite is built in, PostgreSQL an extra; the contract that any other must pass is in `upcall.testing`."""
