-- Whatever has a name and is not an inquiry: runs, rules, people. Lists choose by `state` and sort by `at`.
CREATE TABLE record (
    kind  TEXT NOT NULL,
    key   TEXT NOT NULL,
    state TEXT NOT NULL,
    at    REAL NOT NULL,
    body  TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX record_listed ON record (kind, at, key);
CREATE INDEX record_in_state ON record (kind, state, at, key);

-- What is still to be done. A claim moves `due` to the end of its lease and takes a new `fence`.
CREATE TABLE job (
    id       TEXT PRIMARY KEY,
    kind     TEXT NOT NULL,
    subject  TEXT NOT NULL,
    runner   TEXT NOT NULL,
    due      REAL NOT NULL,
    fence    INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    body     TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX job_due ON job (kind, due, runner);
CREATE INDEX job_about ON job (kind, subject, due);
-- One row. No fence is ever given twice, so whoever held a job long ago cannot settle another that came to have its id.
CREATE TABLE fence (last INTEGER NOT NULL);
INSERT INTO fence (last) VALUES (0);
