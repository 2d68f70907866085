-- "UPCL": lets us tell our own file from somebody else's SQLite database.
PRAGMA application_id = 0x5550434c;

-- `number` is the order of asking. Columns are what is searched by; the rest is JSON: `body` never changes, `outcome`
-- is what became of it so far.
CREATE TABLE inquiry (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    ref         TEXT NOT NULL,
    state       TEXT NOT NULL,
    kind        TEXT NOT NULL,
    agent       TEXT NOT NULL,
    session     TEXT NOT NULL,
    purpose     TEXT NOT NULL,
    request_key TEXT,
    asked_at    REAL NOT NULL,
    expires_at  REAL NOT NULL,
    closed_at   REAL,
    outcome     TEXT,
    body        TEXT NOT NULL
);

-- What is open, however long the history; the other columns are carried along to filter and count without the rows.
CREATE INDEX inquiry_open ON inquiry (number, agent, kind, state) WHERE state = 'open';
CREATE INDEX inquiry_due ON inquiry (expires_at) WHERE state = 'open';
CREATE INDEX inquiry_closed ON inquiry (closed_at, number, state, agent, kind) WHERE closed_at IS NOT NULL;
CREATE INDEX inquiry_agent ON inquiry (agent, number);
CREATE INDEX inquiry_ref ON inquiry (ref);
CREATE INDEX inquiry_request ON inquiry (session, purpose, request_key) WHERE request_key IS NOT NULL;

CREATE TABLE attachment (
    inquiry  TEXT NOT NULL,
    position INTEGER NOT NULL,
    content  BLOB NOT NULL,
    UNIQUE (inquiry, position)
);

-- AUTOINCREMENT: a number is never used twice, whatever may be deleted one day.
CREATE TABLE event (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    type    TEXT NOT NULL,
    inquiry TEXT,
    at      REAL NOT NULL,
    data    TEXT NOT NULL
);

CREATE TABLE token (
    name       TEXT PRIMARY KEY,
    role       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    created_at REAL NOT NULL
) WITHOUT ROWID;
