"""The store for more than one daemon: PostgreSQL, through psycopg 3. Needs the extra `upcall[postgres]`."""
