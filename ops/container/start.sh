#!/bin/sh
# Reads secrets from files, then executes its arguments. For each NAME below, NAME_FILE is the file with the value of NAME;
# an empty file sets nothing. In COGITATE_REDIS_URL and COGITATE_BROKER_URL, the word PASSWORD is replaced by
# REDIS_PASSWORD, in the URL of RabbitMQ by RABBITMQ_PASSWORD. These may have letters and digits only, since they become
# part of a URL.
set -eu
for name in REDIS_PASSWORD RABBITMQ_PASSWORD FLOWER_BASIC_AUTH OPENAI_API_KEY COGITATE_API_KEY; do
  eval "file=\${${name}_FILE:-}"
  [ -n "$file" ] || continue
  if [ ! -r "$file" ]; then
    echo "${name}_FILE: $file cannot be read: create it, readable by the user of this container" >&2
    exit 1
  fi
  text=$(cat "$file")
  [ -z "$text" ] || export "$name=$text"
  unset "${name}_FILE"
done
for name in REDIS_PASSWORD RABBITMQ_PASSWORD; do
  eval "text=\${$name:-}"
  case "$text" in *[!A-Za-z0-9]*)
    echo "$name: this password may have letters and digits only" >&2
    exit 1
  esac
done
for name in COGITATE_REDIS_URL COGITATE_BROKER_URL; do
  eval "url=\${$name:-}"
  case "$url" in
    "") continue ;;
    amqp*) password=${RABBITMQ_PASSWORD:-} ;;
    *) password=${REDIS_PASSWORD:-} ;;
  esac
  export "$name=$(printf '%s' "$url" | sed "s/:PASSWORD@/:$password@/")"
done
unset REDIS_PASSWORD RABBITMQ_PASSWORD
exec "$@"
