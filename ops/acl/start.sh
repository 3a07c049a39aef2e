#!/bin/sh
# Starts a server with the users of users.acl. Their passwords come from the environment and are kept as hashes only.
#   HOST_PASSWORD, WORKER_PASSWORD, OBSERVER_PASSWORD, OPERATOR_PASSWORD   all four must be set
#   USERS_FILE   where the rules are written with the hashes, /tmp/users.acl unless set
# The arguments are the server's own.
set -eu
umask 077
hash() { printf '%s' "$1" | sha256sum | cut -d ' ' -f 1; }
host=$(hash "${HOST_PASSWORD:?set HOST_PASSWORD}")
worker=$(hash "${WORKER_PASSWORD:?set WORKER_PASSWORD}")
observer=$(hash "${OBSERVER_PASSWORD:?set OBSERVER_PASSWORD}")
operator=$(hash "${OPERATOR_PASSWORD:?set OPERATOR_PASSWORD}")
# Redis wants a user on one line, and no remarks.
sed -e '/^#/d' -e "s/#HOST/#$host/" -e "s/#WORKER/#$worker/" -e "s/#OBSERVER/#$observer/" -e "s/#OPERATOR/#$operator/" \
  "$(dirname "$0")/users.acl" \
  | awk '/^user / && rules { print rules; rules = "" } NF { sub(/^ +/, ""); rules = rules (rules ? " " : "") $0 } END { print rules }' \
  > "${USERS_FILE:-/tmp/users.acl}"
exec valkey-server --aclfile "${USERS_FILE:-/tmp/users.acl}" "$@"
