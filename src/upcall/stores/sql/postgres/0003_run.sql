-- Which run an inquiry is of, if of any: what a run still waits for is asked whenever something happens to it. It is in
-- `body` too, from where it comes for what was asked before: no quotation mark inside a text is without a backslash, so
-- this finds the key and nothing else.
ALTER TABLE upcall.inquiry ADD COLUMN run BIGINT;
UPDATE upcall.inquiry SET run = substring(body FROM ',"run":([0-9]+)')::bigint WHERE body LIKE '%,"run":%';
CREATE INDEX inquiry_run ON upcall.inquiry (run, number) WHERE run IS NOT NULL;
