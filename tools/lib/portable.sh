# shellcheck shell=bash
# What a portable binary may need. Sourced by tools/portable; needs talk.sh.

# Ubuntu 24.04's glibc; whoever has an older one than that builds from source.
newest_glibc=2.39

# glibc's own parts, and the program that loads them.
allowed_libraries='^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux.*\.so\.[0-9]+)$'

# check_portable BINARY: false, with the reason, if it needs more than a bare machine has.
check_portable() {
  local needed extra version
  needed=$(LC_ALL=C readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
  extra=$(grep -Ev "$allowed_libraries" <<<"$needed" || true)
  if [ -n "$extra" ]; then
    say "not portable: $1 needs $(tr '\n' ' ' <<<"$extra")"
    return 1
  fi
  version=$(LC_ALL=C readelf --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | cut -d _ -f 2 |
    sort --version-sort --unique | tail -n 1)
  if [ "$(printf '%s\n' "$version" "$newest_glibc" | sort --version-sort | tail -n 1)" != \
    "$newest_glibc" ]; then
    say "not portable: $1 needs glibc $version, newer than $newest_glibc"
    return 1
  fi
  say "needs only $(tr '\n' ' ' <<<"$needed")of glibc $version or newer; $(du -h "$1" | cut -f 1)"
}
