-- Which daemon has a job under a lease, so that the leases of one that is dead can be ended. Empty where none has.
-- A daemon's name is the number of an advisory lock that its listening connection has for as long as it lives.
ALTER TABLE upcall.job ADD COLUMN holder TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX job_held ON upcall.job (holder) WHERE holder <> '';
