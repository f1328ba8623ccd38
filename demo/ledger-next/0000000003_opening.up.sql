ALTER TABLE postings ADD COLUMN note varchar(80);
INSERT INTO postings (account_id, amount, note) VALUES (1, 100.00, 'opening balance');
UPDATE postings SET note = 'before notes' WHERE note IS NULL;
