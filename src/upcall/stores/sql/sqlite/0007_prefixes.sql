-- The beginnings of words have indexes of their own, up to twelve characters, so none of them has to be put together from all
-- the words that begin with it. All words are indexed again, because their marks are new: in the background, the newest first.
DROP TABLE inquiry_words;
CREATE VIRTUAL TABLE inquiry_words USING fts5 (
    words, detail = none, columnsize = 0, tokenize = 'ascii', prefix = '1 2 3 4 5 6 7 8 9 10 11 12'
);
UPDATE inquiry SET searched = NULL WHERE searched IS NOT NULL;
