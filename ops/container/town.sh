#!/bin/sh
# Runs the town RUN; a container that restarts after a crash of its host resumes it. Without RUN, the town is named after
# its container. The arguments are options of a new town; DAYS is the length of a new or a resumed one.
set -eu
run=${RUN:-town-$(hostname)}
days=${DAYS:-1}
if cogitate status "$run" > /dev/null 2>&1; then
  exec cogitate run --run "$run" --resume --days "$days" --workers 0
fi
exec cogitate run --run "$run" --days "$days" --workers 0 "$@"
