#!/bin/sh
# Starts a server with the users of users.acl. Their passwords come from files or the environment, and are stored as hashes.
#   HOST_PASSWORD_FILE, WORKER_PASSWORD_FILE, OBSERVER_PASSWORD_FILE, OPERATOR_PASSWORD_FILE   names of files
#   HOST_PASSWORD, WORKER_PASSWORD, OBSERVER_PASSWORD, OPERATOR_PASSWORD   the passwords, of users without a file
#   USERS_FILE   the file for the rules with the hashes, by default /tmp/users.acl
# The arguments are the server's.
set -eu
umask 077
hash() { printf '%s' "$1" | sha256sum | cut -d ' ' -f 1; }
for name in HOST_PASSWORD WORKER_PASSWORD OBSERVER_PASSWORD OPERATOR_PASSWORD; do
  eval "file=\${${name}_FILE:-}"
  [ -z "$file" ] || eval "$name=\$(cat \"\$file\")"
done
host=$(hash "${HOST_PASSWORD:?set HOST_PASSWORD}")
worker=$(hash "${WORKER_PASSWORD:?set WORKER_PASSWORD}")
observer=$(hash "${OBSERVER_PASSWORD:?set OBSERVER_PASSWORD}")
operator=$(hash "${OPERATOR_PASSWORD:?set OPERATOR_PASSWORD}")
# Redis requires each user on one line, and no comments.
sed -e '/^#/d' -e "s/#HOST/#$host/" -e "s/#WORKER/#$worker/" -e "s/#OBSERVER/#$observer/" -e "s/#OPERATOR/#$operator/" \
  "$(dirname "$0")/users.acl" \
  | awk '/^user / && rules { print rules; rules = "" } NF { sub(/^ +/, ""); rules = rules (rules ? " " : "") $0 } END { print rules }' \
  > "${USERS_FILE:-/tmp/users.acl}"
exec valkey-server --aclfile "${USERS_FILE:-/tmp/users.acl}" "$@"
