#!/bin/sh
# Counts what is in a text: tally.sh COMMAND [FILE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for part in "$here"/lib/*.sh; do
    if [ -e "$part" ]; then . "$part"; fi
done
if [ $# -gt 1 ]; then exec <"$2"; fi
case ${1:-help} in
    help) echo "usage: sh tally.sh COMMAND [FILE]" ;;
    *) echo "tally: there is no command '$1'" >&2; exit 2 ;;
esac
