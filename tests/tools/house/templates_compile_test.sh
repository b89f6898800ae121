#!/usr/bin/env bash
# nvcc takes every CUDA file of kernel_templates by itself, with the genes of the defaults beside it. What optimizing
# them and ptxas find, which takes most of the time, is left to FA_TUNE_THOROUGH. Where there is no nvcc it ends with
# 77, which is 'skipped'.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || skip "there is no nvcc"
templates=$repository/kernel_templates
if [ -n "${FA_TUNE_THOROUGH:-}" ]; then form=(-cubin); else form=(-ptx -Xcicc -O0); fi

# compile WHAT FILE OPTION...: nvcc must take the file without a word.
compile() {
  local what=$1 file=$2
  shift 2
  try "$nvcc" -Werror all-warnings -std=c++17 -I "$templates/include" "$@" "${form[@]}" -o "$work/compiled" "$templates/$file"
  check "nvcc takes $file $what" equal "$status$(cat "$out" "$err")" 0
}

count=0
for path in "$templates"/*/*.cu; do
  # What its manifest asks for, else the oldest that has cp.async.
  manifest=${path%.cu}.yaml architecture=
  if [ -e "$manifest" ]; then architecture=$(sed -n 's/^arch: *\(sm_[0-9a-z]*\).*/\1/p' "$manifest"); fi
  compile 'by itself' "${path#"$templates"/}" "-arch=${architecture:-sm_80}"
  count=$((count + 1))
done
check 'there are templates' test "$count" -gt 20

compile 'for other genes than the defaults' attention/wgmma.cu -arch=sm_90a \
  -DBLOCK_N=64 -DDTYPE_E4M3=1 -DSCALE_ROWS=128 -DDTYPE_BF16=1
compile 'with tensor copies, which need sm_90' attention/mma.cu -arch=sm_90 -DTENSOR_COPY=1 -DSTAGES=2
finish
