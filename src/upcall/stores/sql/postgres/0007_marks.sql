-- All words are indexed again, because their marks are new: in the background, the newest first. `searched` says so by the number
-- before the state: a daemon of the version before, which runs until it is restarted too, writes the state alone, and what it
-- indexes without the marks is indexed once more. No row has to be written for that. The index takes each word at once: a search
-- would have to read through a list of those that wait.
DROP INDEX upcall.inquiry_unsearched;
CREATE INDEX inquiry_unsearched ON upcall.inquiry (number) WHERE searched IS DISTINCT FROM '2:' || state;
ALTER INDEX upcall.inquiry_words_found SET (fastupdate = off);
