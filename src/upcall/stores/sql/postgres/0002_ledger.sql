-- Whatever has a name and is not an inquiry: runs, rules, people. Lists choose by `state` and sort by `at`.
CREATE TABLE upcall.record (
    kind  TEXT COLLATE "C" NOT NULL,
    key   TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    at    DOUBLE PRECISION NOT NULL,
    body  TEXT NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE INDEX record_listed ON upcall.record (kind, at, key);
CREATE INDEX record_in_state ON upcall.record (kind, state, at, key);

-- What is still to be done. A claim moves `due` to the end of its lease and takes a new `fence`.
CREATE TABLE upcall.job (
    id       TEXT COLLATE "C" PRIMARY KEY,
    kind     TEXT COLLATE "C" NOT NULL,
    subject  TEXT COLLATE "C" NOT NULL,
    runner   TEXT COLLATE "C" NOT NULL,
    due      DOUBLE PRECISION NOT NULL,
    fence    BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    body     TEXT NOT NULL
);
CREATE INDEX job_due ON upcall.job (kind, due, runner);
CREATE INDEX job_about ON upcall.job (kind, subject, due);
-- No fence is ever given twice, so whoever held a job long ago cannot settle another that came to have its id.
CREATE SEQUENCE upcall.fence;

-- The last transaction of each writer, by a number of its own: whoever did not hear the end of a commit looks here.
CREATE TABLE upcall.writer (
    name TEXT COLLATE "C" PRIMARY KEY,
    last BIGINT NOT NULL,
    at   TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);
