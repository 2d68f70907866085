-- The words by which inquiries are found. They are written down by whoever searches, not by whoever asks or answers:
-- `searched` is the state that an inquiry was in at that time, and the index is of those that have changed since.
ALTER TABLE inquiry ADD COLUMN searched TEXT;
CREATE INDEX inquiry_unsearched ON inquiry (number) WHERE searched IS NOT state;
-- Words come ready-made, so nothing is to be found out about them; where in a text they stood is of no interest.
CREATE VIRTUAL TABLE inquiry_words USING fts5 (words, detail = none, columnsize = 0, tokenize = 'ascii');
