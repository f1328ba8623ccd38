#!/bin/sh
# Runs a database server as its child, so that a test takes it down and brings it back, its data kept, without a restart
# of the container (the kubelet's back-off grows to minutes).
#   run SIGNAL command...  the server, until it ends by itself (and the container with it) or SIGTERM comes, passed on as SIGNAL
#   stop                   ends it in an orderly way; it stays down until `start`
#   kill                   ends every process of the container at once, as a lost machine would; down until `start`
#   start                  lets it run again, and returns before it answers
# State is in KEEPER_DIR: `held` while the server has to stay down, `pid` while it runs, `signal`.
set -eu
directory=${KEEPER_DIR:-/data/run}
longest_wait=300 # tenths of a second

until_down() {
  tries=0
  while [ -e "$directory/pid" ]; do
    tries=$((tries + 1))
    [ "$tries" -le "$longest_wait" ] || { echo "server-keeper: the server is still running" >&2; exit 1; }
    sleep 0.1
  done
}

run() {
  signal=$1; shift
  mkdir -p "$directory"
  echo "$signal" > "$directory/signal"
  rm -f "$directory/pid"
  child= ending=
  trap 'ending=yes; [ -z "$child" ] || kill -s "$signal" "$child" 2>/dev/null || true' TERM INT
  while [ -z "$ending" ]; do
    if [ -e "$directory/held" ]; then sleep 0.1 || true; continue; fi
    "$@" &
    child=$!
    echo "$child" > "$directory/pid"
    code=0
    wait "$child" || code=$?
    # A signal to this shell ends `wait` before the child has ended.
    while kill -0 "$child" 2>/dev/null; do code=0; wait "$child" || code=$?; done
    child=
    rm -f "$directory/pid"
    [ -n "$ending" ] || [ -e "$directory/held" ] || exit "$code"
  done
}

case "${1:?run, stop, kill or start}" in
  run) shift; run "$@" ;;
  stop) : > "$directory/held"; kill -s "$(cat "$directory/signal")" "$(cat "$directory/pid")"; until_down ;;
  kill) : > "$directory/held"; kill -9 -1; until_down ;;
  start) rm -f "$directory/held" ;;
  *) echo "server-keeper: no such verb: $1" >&2; exit 2 ;;
esac
