DROP INDEX postings_note ON postings;
