-- Which daemon has a job under a lease, so that the leases of one that is dead can be ended. Empty where none has.
ALTER TABLE job ADD COLUMN holder TEXT NOT NULL DEFAULT '';
CREATE INDEX job_held ON job (holder) WHERE holder <> '';
