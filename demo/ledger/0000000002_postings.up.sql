CREATE TABLE postings (
  id bigint AUTO_INCREMENT PRIMARY KEY,
  account_id bigint NOT NULL,
  amount decimal(12, 2) NOT NULL,
  CONSTRAINT postings_account FOREIGN KEY (account_id) REFERENCES accounts (id)
);
