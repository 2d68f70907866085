-- Those that are snoozed are few, and are left out where it is counted how many wait for a person. The text is not read as JSON,
-- which a damaged row is not, and only its beginning: further on stand fields that an agent has named.
CREATE INDEX inquiry_snoozed ON upcall.inquiry ((substring(outcome FROM '^{"snoozed_until":([0-9.]+)')::double precision))
    WHERE state = 'open' AND substring(outcome FROM '^{"snoozed_until":([0-9.]+)')::double precision IS NOT NULL;
