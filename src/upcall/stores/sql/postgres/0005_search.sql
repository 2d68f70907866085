-- The words by which inquiries are found. They are written down by whoever searches, not by whoever asks or answers:
-- `searched` is the state that an inquiry was in at that time, and the index is of those that have changed since.
ALTER TABLE upcall.inquiry ADD COLUMN searched TEXT COLLATE "C";
CREATE INDEX inquiry_unsearched ON upcall.inquiry (number) WHERE searched IS DISTINCT FROM state;
CREATE TABLE upcall.inquiry_words (
    number BIGINT PRIMARY KEY REFERENCES upcall.inquiry (number) ON DELETE CASCADE,
    words  TSVECTOR NOT NULL
);
CREATE INDEX inquiry_words_found ON upcall.inquiry_words USING gin (words);
