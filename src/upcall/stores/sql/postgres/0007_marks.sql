-- All words are indexed again, because their marks are new: in the background, the newest first. A column that is made anew needs
-- no row to be written. The index takes each word at once: a search would have to read through a list of those that wait.
TRUNCATE upcall.inquiry_words;
DROP INDEX upcall.inquiry_unsearched;
ALTER TABLE upcall.inquiry DROP COLUMN searched;
ALTER TABLE upcall.inquiry ADD COLUMN searched TEXT COLLATE "C";
CREATE INDEX inquiry_unsearched ON upcall.inquiry (number) WHERE searched IS DISTINCT FROM state;
ALTER INDEX upcall.inquiry_words_found SET (fastupdate = off);
