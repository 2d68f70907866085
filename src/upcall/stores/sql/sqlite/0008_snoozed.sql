-- Those that are snoozed are few, and are left out where it is counted how many wait for a person. The text is not read as JSON,
-- which a damaged row is not.
CREATE INDEX inquiry_snoozed ON inquiry (CAST(substr(outcome, nullif(instr(outcome, '"snoozed_until":'), 0) + 16) AS REAL))
    WHERE state = 'open' AND CAST(substr(outcome, nullif(instr(outcome, '"snoozed_until":'), 0) + 16) AS REAL) IS NOT NULL;
