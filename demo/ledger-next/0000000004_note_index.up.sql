CREATE UNIQUE INDEX postings_note ON postings (note);
