#!/bin/sh
# A MySQL or MariaDB server for tests and the demo: `serve [options]` on TCP and on a socket, everything it keeps in /data.
# Password of `root` from anywhere: MYSQL_ROOT_PASSWORD (none on the socket). A database made at the first start: MYSQL_DATABASE.
# TLS when MYSQL_TLS_CERT and MYSQL_TLS_KEY name files, else none. Every statement is written to /data/log/general.log.
# Options go to the server. Anything else is run as it is.
set -eu

data=/data/server
server=$(command -v mariadbd || command -v mysqld)

accounts() {
  password=$(printf '%s' "$MYSQL_ROOT_PASSWORD" | sed "s/[\\\\']/\\\\&/g")
  printf 'FLUSH PRIVILEGES;\n'
  [ -z "${MYSQL_DATABASE:-}" ] || printf 'CREATE DATABASE `%s`;\n' "$MYSQL_DATABASE"
  printf "CREATE USER 'root'@'%%' IDENTIFIED BY '%s';\n" "$password"
  # MariaDB's own accounts without a password would stand before that one.
  printf "DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1';\n"
  printf "GRANT ALL PRIVILEGES ON *.* TO 'root'@'%%' WITH GRANT OPTION;\n"
}

# A first start that was cut off is begun anew: the directory gets its name when it is whole.
init() {
  [ -d "$data" ] && return 0
  rm -rf "$data.new"
  (umask 077; accounts > /data/run/accounts.sql)
  case "$server" in
    *mariadbd)
      mariadb-install-db --no-defaults --datadir="$data.new" --auth-root-authentication-method=normal --skip-test-db \
        --skip-name-resolve --innodb-log-file-size=16M --innodb-flush-method=nosync >&2
      "$server" --no-defaults --datadir="$data.new" --bootstrap --innodb-log-file-size=16M --innodb-flush-method=nosync < /data/run/accounts.sql ;;
    *)
      "$server" --no-defaults --datadir="$data.new" --initialize-insecure --init-file=/data/run/accounts.sql \
        --auto-generate-certs=OFF --innodb-redo-log-capacity=16M --innodb-flush-method=nosync ;;
  esac
  rm -f /data/run/accounts.sql
  mv "$data.new" "$data"
}

serve() {
  : "${MYSQL_ROOT_PASSWORD:?set MYSQL_ROOT_PASSWORD}"
  mkdir -p /data/run /data/log /data/tmp
  init
  unset MYSQL_ROOT_PASSWORD
  [ -z "${MYSQL_TLS_CERT:-}" ] || set -- --ssl-cert="$MYSQL_TLS_CERT" --ssl-key="${MYSQL_TLS_KEY:?}" "$@"
  case "$server" in
    *mariadbd) set -- --innodb-log-file-size=16M "$@" ;;
    *) set -- --innodb-redo-log-capacity=16M --mysqlx=OFF --auto-generate-certs=OFF "$@" ;;
  esac
  # What was committed survives the end of the process, not of the machine.
  exec server-keeper run TERM "$server" --no-defaults --datadir="$data" --tmpdir=/data/tmp --pid-file=/data/run/server-pid \
    --socket=/data/run/server.sock --bind-address=0.0.0.0 --port=3306 --skip-name-resolve --skip-log-bin \
    --secure-file-priv=/data/tmp --general-log=ON --general-log-file=/data/log/general.log --log-output=FILE \
    --innodb-flush-method=nosync --innodb-flush-log-at-trx-commit=2 --innodb-buffer-pool-size=64M --innodb-use-native-aio=OFF \
    "$@"
}

case "${1:-serve}" in
  serve) [ $# -gt 0 ] && shift; serve "$@" ;;
  *) exec "$@" ;;
esac
