#!/usr/bin/env bash
# Texts of strangers that would have the program open or quote a file of the user's: named_files.py.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

command -v python3 >/dev/null || skip 'there is no python3'
scale_space
check 'a run to begin with' "$program" evolve --space scale.yaml --device emulator:l4 --budget 1 --no-finals \
  --db good.db --log-level error >/dev/null 2>&1
check 'an export to begin with' "$program" export --db good.db --out good.cu --log-level error
check 'no file is opened, and none is quoted' python3 "$repository/tests/tools/space/named_files.py" "$program" "$PWD"
finish
