-- What waits for its turn in a thread, in the order of asking.
CREATE INDEX inquiry_queued ON inquiry (number, agent, kind, state) WHERE state = 'queued';

-- The items of a thread are lines of the log; this is the thread as a list of its own.
CREATE INDEX event_in_thread ON event (json_extract(data, '$.thread'), seq) WHERE type = 'thread_item';
