#!/usr/bin/env bash
# The JSON Schema of spaces says what their reader says.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

cp -r "$repository/search_spaces" spaces
status=0
python3 "$repository/tests/tools/space/schema_cases.py" "$program" "$repository/search_spaces" spaces "${SCHEMA_CASES:-240}" || status=$?
[ "$status" != 77 ] || exit 77
check 'schema and reader agree' equal "$status" 0
finish
