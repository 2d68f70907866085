-- What waits for its turn in a thread, in the order of asking.
CREATE INDEX inquiry_queued ON upcall.inquiry (number) INCLUDE (agent, kind) WHERE state = 'queued';

-- The items of a thread are lines of the log; this is the thread as a list of its own.
CREATE INDEX event_in_thread ON upcall.event ((data::json ->> 'thread'), seq) WHERE type = 'thread_item';
