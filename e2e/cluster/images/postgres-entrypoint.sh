#!/bin/sh
# A PostgreSQL server for tests and the demo. Modes:
#   serve [options]    on TCP and on a socket, everything it keeps in /data. Password: POSTGRES_PASSWORD (user POSTGRES_USER, by default
#                      postgres; database POSTGRES_DB). TLS when POSTGRES_TLS_CERT and POSTGRES_TLS_KEY name files.
#   scratch [options]  on a Unix socket alone, everything in SCRATCH_DIR (a memory volume), nothing kept, no password.
# Anything else is run as it is. Options go to the server.
set -eu

server_defaults="-c dynamic_shared_memory_type=mmap -c unix_socket_permissions=0777"

init() { # init cluster-directory options...
  cluster=$1; shift
  [ -s "$cluster/PG_VERSION" ] && return 0
  initdb --pgdata="$cluster" --encoding=UTF8 --locale=C.UTF-8 --no-sync --no-instructions "$@" >/dev/null
}

serve() {
  : "${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD}"
  user=${POSTGRES_USER:-postgres}
  sockets=/data/run
  mkdir -p "$sockets"
  if [ ! -s "$PGDATA/PG_VERSION" ]; then
    umask 077
    printf '%s\n' "$POSTGRES_PASSWORD" > "$sockets/password"
    init "$PGDATA" --username="$user" --pwfile="$sockets/password" --auth-local=trust --auth-host=scram-sha-256
    rm -f "$sockets/password"
    printf 'host all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
    if [ -n "${POSTGRES_DB:-}" ] && [ "$POSTGRES_DB" != postgres ]; then
      printf 'CREATE DATABASE "%s"\n' "$POSTGRES_DB" | postgres --single -D "$PGDATA" postgres >/dev/null
    fi
  fi
  if [ -n "${POSTGRES_TLS_CERT:-}" ]; then
    # The server refuses a key that others may read, and a mounted Secret is such a file.
    cp "$POSTGRES_TLS_CERT" "$sockets/tls.crt"
    cp "${POSTGRES_TLS_KEY:?}" "$sockets/tls.key"
    chmod 600 "$sockets/tls.key"
    set -- -c ssl=on -c ssl_cert_file="$sockets/tls.crt" -c ssl_key_file="$sockets/tls.key" "$@"
  fi
  unset POSTGRES_PASSWORD
  # What was committed survives the end of the process, not of the machine.
  # shellcheck disable=SC2086
  exec server-keeper run INT postgres -D "$PGDATA" $server_defaults -c fsync=off -c listen_addresses='*' -c unix_socket_directories="$sockets" "$@"
}

scratch() {
  directory=${SCRATCH_DIR:-/scratch}
  init "$directory/data" --username=postgres --auth=trust
  # shellcheck disable=SC2086
  exec postgres -D "$directory/data" $server_defaults -c listen_addresses='' -c unix_socket_directories="$directory" \
    -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off \
    -c wal_level=minimal -c max_wal_senders=0 -c shared_buffers=16MB -c min_wal_size=32MB -c max_wal_size=64MB "$@"
}

case "${1:-serve}" in
  serve) [ $# -gt 0 ] && shift; serve "$@" ;;
  scratch) shift; scratch "$@" ;;
  *) exec "$@" ;;
esac
