-- Which run an inquiry is of, if of any: what a run still waits for is asked whenever something happens to it. It is in
-- `body` too, from where it comes for what was asked before.
ALTER TABLE inquiry ADD COLUMN run INTEGER;
UPDATE inquiry SET run = json_extract(body, '$.run') WHERE instr(body, ',"run":') > 0;
CREATE INDEX inquiry_run ON inquiry (run, number, state, agent, kind) WHERE run IS NOT NULL;
