-- What waits for its turn in a thread, in the order of asking.
CREATE INDEX inquiry_queued ON inquiry (number, agent, kind, state) WHERE state = 'queued';

-- Which lines of the log are the items of a thread.
CREATE TABLE thread_item (
    seq    INTEGER PRIMARY KEY,
    thread TEXT NOT NULL
);
CREATE INDEX thread_item_listed ON thread_item (thread, seq);
