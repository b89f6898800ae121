#!/usr/bin/env bash
# The Python package from the source tree beside the built program: what each file beside this one says.
# Needs a Python with NumPy, and ends with 77, which is 'skipped', where there is none.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tools/cli.sh"
folder=$repository/tests/python
python_with numpy

export PYTHONPATH=$repository/tools/python FA_TUNE_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1
unset FA_TUNE_DEVICE FA_TUNE_MAX_FEVALS
for file in trace compiled package tune_kernel rows observers search host_code scripts; do
  try "$python" "$folder/${file}_test.py"
  check "$file" equal "$status" 0
  if [ "$status" != 0 ]; then cat "$out" "$err"; fi
done
if "$python" -c 'import mypy' 2>/dev/null; then
  try "$python" -m mypy --config-file "$repository/tools/python/pyproject.toml" -p fa_tune
  check 'mypy finds nothing' equal "$status" 0
fi
finish
