# shellcheck shell=bash
# Where NVRTC, CUDA's run-time compiler, comes from: an installed toolkit, else a local environment
# under .venv with NVIDIA's wheels, fetched with the user's own pip configuration.
# Sourced by tools/setup; needs talk.sh and packages.sh.

# One release of the toolkit, pinned: the compiler decides what code a variant becomes, so that times
# taken with different ones are not comparable. The others hold the headers: cuda_fp16.h, mma.h, cub.
nvrtc_wheels=(
  nvidia-cuda-nvrtc==13.0.88
  nvidia-cuda-runtime==13.0.96
  nvidia-cuda-crt==13.0.88
  nvidia-cuda-cccl==13.0.85
)

# toolkit_nvrtc: prints the path of an installed libnvrtc, newest kind first. FA_TUNE_NVRTC names one
# outright; FA_TUNE_HIDE_TOOLKIT=1 makes all others invisible.
toolkit_nvrtc() {
  local version folder path folders
  if [ -n "${FA_TUNE_NVRTC:-}" ]; then
    [ -e "$FA_TUNE_NVRTC" ] || return 1
    printf '%s\n' "$FA_TUNE_NVRTC"
    return 0
  fi
  if [ "${FA_TUNE_HIDE_TOOLKIT:-0}" = 1 ]; then return 1; fi
  IFS=: read -ra folders <<<"${LD_LIBRARY_PATH:-}"
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}"; do
    if [ -n "$folder" ]; then folders+=("$folder/lib64"); fi
  done
  folders+=(/usr/local/cuda/lib64 /usr/local/cuda-*/lib64)
  for version in 13 12; do
    for folder in "${folders[@]}"; do
      path=$folder/libnvrtc.so.$version
      if [ -e "$path" ]; then
        printf '%s\n' "$path"
        return 0
      fi
    done
    # Users other than root often have no /sbin in PATH.
    path=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null |
      awk -v name="libnvrtc.so.$version" '$1 == name { print $NF; exit }')
    if [ -n "$path" ] && [ -e "$path" ]; then
      printf '%s\n' "$path"
      return 0
    fi
  done
  return 1
}

# venv_nvrtc ROOT: prints the path of the local environment's libnvrtc if the environment was finished
# with the wheels named above; a half-made one counts as none.
venv_nvrtc() {
  local path
  if [ "$(cat "$1/.venv/nvrtc-wheels" 2>/dev/null)" != "${nvrtc_wheels[*]}" ]; then return 1; fi
  for path in "$1"/.venv/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.13; do
    if [ -s "$path" ] && [ -e "${path%/lib/*}/include/cuda_fp16.h" ]; then
      printf '%s\n' "$path"
      return 0
    fi
  done
  return 1
}

# make_pip ROOT LOG: puts the words that install into ROOT/.venv into pip_install. Keeps an environment
# whose pip works, remakes one whose pip does not.
make_pip() {
  local root=$1 log=$2 site
  if ! "$root/.venv/bin/python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$root/.venv"
    # Debian ships venv without ensurepip unless python3-venv is installed.
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null &&
      ! python3 -m pip --version >/dev/null 2>&1; then
      install_packages "$log" python3-venv || return 1
    fi
    if python3 -c 'import ensurepip, venv' 2>/dev/null; then
      python3 -m venv "$root/.venv" >>"$log" 2>&1 || return 1
    else
      # Without venv a plain folder does as well: only libraries and headers are taken from it.
      site=$(python3 -c 'import sys; print("python3.%d" % sys.version_info[1])') || return 1
      pip_install=(python3 -m pip install --target "$root/.venv/lib/$site/site-packages" --upgrade)
      return 0
    fi
  fi
  pip_install=("$root/.venv/bin/python" -m pip install)
}

# make_venv ROOT LOG: false, with a line that says what to do, if it cannot be made.
make_venv() {
  local root=$1 log=$2 pip_install=()
  say "no CUDA toolkit found: fetching NVRTC into $root/.venv (250 MB; log: $log)"
  : >"$log"
  # No --quiet: pip then also hides why it found no wheel.
  if make_pip "$root" "$log" &&
    "${pip_install[@]}" --disable-pip-version-check --no-input --no-deps --only-binary :all: \
      "${nvrtc_wheels[@]}" >>"$log" 2>&1; then
    # Written last: its presence says that all before it was done.
    printf '%s\n' "${nvrtc_wheels[*]}" >"$root/.venv/nvrtc-wheels"
    if venv_nvrtc "$root" >/dev/null; then return 0; fi
  fi
  show_log "$log"
  say 'no NVRTC: install a CUDA toolkit 12 or 13, or let pip reach a package index, or set' \
    'FA_TUNE_NVRTC to a libnvrtc.so; then retry'
  return 1
}
