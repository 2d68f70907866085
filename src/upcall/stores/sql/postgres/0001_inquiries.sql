-- `number` is the order of asking. Columns are what is searched by; the rest is JSON: `body` never changes, `outcome`
-- tells what became of it. jsonb would neither keep NUL characters nor halves of surrogate pairs. Texts are compared
-- byte by byte, as everywhere else.
CREATE TABLE upcall.inquiry (
    number      BIGINT PRIMARY KEY,
    id          TEXT COLLATE "C" NOT NULL UNIQUE,
    ref         TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    agent       TEXT COLLATE "C" NOT NULL,
    session     TEXT COLLATE "C" NOT NULL,
    purpose     TEXT COLLATE "C" NOT NULL,
    request_key TEXT COLLATE "C",
    asked_at    DOUBLE PRECISION NOT NULL,
    expires_at  DOUBLE PRECISION NOT NULL,
    closed_at   DOUBLE PRECISION,
    outcome     TEXT,
    body        TEXT NOT NULL
);

-- What is open, however long the history; the other columns are carried along to filter without the rows.
CREATE INDEX inquiry_open ON upcall.inquiry (number) INCLUDE (agent, kind) WHERE state = 'open';
CREATE INDEX inquiry_due ON upcall.inquiry (expires_at) INCLUDE (id) WHERE state = 'open';
CREATE INDEX inquiry_closed ON upcall.inquiry (closed_at, number) WHERE closed_at IS NOT NULL;
CREATE INDEX inquiry_agent ON upcall.inquiry (agent, number);
CREATE INDEX inquiry_ref ON upcall.inquiry (ref);
CREATE INDEX inquiry_request ON upcall.inquiry (session, purpose, request_key, agent, number)
    WHERE request_key IS NOT NULL;

CREATE TABLE upcall.attachment (
    inquiry  TEXT COLLATE "C" NOT NULL,
    position INTEGER NOT NULL,
    content  BYTEA NOT NULL,
    PRIMARY KEY (inquiry, position)
);

CREATE TABLE upcall.event (
    seq     BIGINT PRIMARY KEY,
    type    TEXT COLLATE "C" NOT NULL,
    inquiry TEXT COLLATE "C",
    at      DOUBLE PRECISION NOT NULL,
    data    TEXT NOT NULL
);

-- One row. Whoever writes locks it first, so numbers are given in the order of commits, without gaps and never twice:
-- a sequence would hand them out before the commit, and a reader could pass by one that becomes visible late.
CREATE TABLE upcall.counter (
    single      BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (single),
    last_seq    BIGINT NOT NULL,
    last_number BIGINT NOT NULL
) WITH (fillfactor = 10);
INSERT INTO upcall.counter (last_seq, last_number) VALUES (0, 0);

CREATE TABLE upcall.token (
    name       TEXT COLLATE "C" PRIMARY KEY,
    role       TEXT COLLATE "C" NOT NULL,
    digest     TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL
);
