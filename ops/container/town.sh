#!/bin/sh
# Begins the town RUN; a container that starts again, after a crash of its host, goes on with it. Without RUN the town has
# the name of its container. The arguments are options of a new town; DAYS is its length, also of one that goes on.
set -eu
run=${RUN:-town-$(hostname)}
days=${DAYS:-1}
if cogitate status "$run" > /dev/null 2>&1; then
  exec cogitate run --run "$run" --resume --days "$days" --workers 0
fi
exec cogitate run --run "$run" --days "$days" --workers 0 "$@"
