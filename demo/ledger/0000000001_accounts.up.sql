CREATE TABLE accounts (
  id bigint AUTO_INCREMENT PRIMARY KEY,
  name varchar(100) NOT NULL UNIQUE
);
