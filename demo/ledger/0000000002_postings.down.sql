DROP TABLE postings;
