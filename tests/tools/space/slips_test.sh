#!/usr/bin/env bash
# What `space check` says of slips in a user's own space and kernel, before anything is compiled; and what a search
# says of those that a compiler alone finds: slips.py.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

command -v python3 >/dev/null || skip 'there is no python3'
check 'each slip is told in one line, with its place and what to do' \
  python3 "$repository/tests/tools/space/slips.py" "$program" "$PWD"
finish
