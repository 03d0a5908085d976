#!/bin/sh
# Greets somebody: greet.sh NAME [HOUR]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib/words.sh"
. "$here/lib/name.sh"
. "$here/lib/hour.sh"
part=$(part_of_day "${2:-$(date +%H)}")
echo "$(words_for "$part"), $(clean_name "${1:-}")!"
