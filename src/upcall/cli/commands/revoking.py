"""What a restore keeps of the database that it replaces: that some tokens are revoked."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from upcall.access.tokens import REVOKED

_GONE = "SELECT kind, key, state, at, body FROM record WHERE kind = ?"


def revoke_again(current: Path, restored: Path) -> list[str]:
    """Revoke in a backup what was revoked since it was made, as the database in use tells; the names."""
    try:
        with closing(sqlite3.connect(f"{current.absolute().as_uri()}?mode=ro", uri=True)) as db:
            gone = db.execute(_GONE, (REVOKED,)).fetchall()
    except sqlite3.DatabaseError as error:
        print(
            f"upcall: what was revoked since the backup cannot be read ({error}). Next: upcall tokens list",
            file=sys.stderr,
        )
        return []
    revoked: set[str] = set()
    with closing(sqlite3.connect(restored)) as db, db:
        for row in gone:
            dropped = db.execute("DELETE FROM token WHERE digest = ? RETURNING name", (row[1],)).fetchall()
            revoked |= {name for (name,) in dropped}
        # A backup of an early version gets this table when it is next used.
        if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'record'").fetchone():
            db.executemany("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?, ?)", gone)
    return sorted(revoked)
