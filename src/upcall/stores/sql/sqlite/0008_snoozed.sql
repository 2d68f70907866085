-- Those that are snoozed are few, and are left out where it is counted how many wait for a person. The text is not read as JSON,
-- which a damaged row is not, and only its beginning: further on stand fields that an agent has named.
CREATE INDEX inquiry_snoozed ON inquiry (CAST(substr(outcome, nullif(instr(substr(outcome, 1, 17), '{"snoozed_until":'), 0) + 17) AS REAL))
    WHERE state = 'open' AND CAST(substr(outcome, nullif(instr(substr(outcome, 1, 17), '{"snoozed_until":'), 0) + 17) AS REAL) IS NOT NULL;
