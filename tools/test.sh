#!/usr/bin/env bash
# Installs what the tests need, builds, and passes the tests: as users run them, then unit, error and fuzz tests under
# the address, undefined-behaviour and thread sanitizers.
#
# usage: tools/test.sh [--quick | --full] [--no-install] [--jobs N]
#   --quick       without the sanitizers
#   --full        also the long ones: all networks by the evaluator and in every combination, AArch64 under qemu, longer
#                 fuzzing, all checks for undefined behaviour, every file by itself with warnings as errors, clang-tidy
#   --no-install  do not call the package manager
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

full=0 quick=0 install=1 jobs=$(nproc)
while [ $# -gt 0 ]; do
  case "$1" in
    --full) full=1 ;;
    --quick) quick=1 ;;
    --no-install) install=0 ;;
    --jobs) jobs=$2; shift ;;
    *) sed -n '2,10p' "$0" | cut -c3- >&2; exit 2 ;;
  esac
  shift
done

# step NAME COMMAND...: one stage; the first that fails ends the script. Times are printed at the end.
times=() current=
report() {
  local status=$?
  [ -z "$current" ] || times+=("$((SECONDS - began)) s  $current (failed)")
  if [ ${#times[@]} -gt 0 ]; then printf '\n== times\n'; printf '%s\n' "${times[@]}"; echo "$SECONDS s  in all"; fi
  return $status
}
trap report EXIT
step() {
  current=$1 began=$SECONDS
  shift
  printf '\n== %s\n' "$current"
  "$@"
  times+=("$((SECONDS - began)) s  $current")
  current=
}

packages() {
  install_packages "${FRIT_BUILD_PACKAGES[@]}" "${FRIT_TEST_PACKAGES[@]}"
  if [ $full -eq 1 ]; then install_packages "${FRIT_FULL_PACKAGES[@]}"; fi
}

# build PRESET [-DNAME=VALUE...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" -DFRIT_TESTS=ON "$@"  # quickstart.sh switches the tests off in the same folder
  cmake --build --preset "$preset" -j "$jobs"
}

# A skipped test, or case of a test program, is a failed one unless tests/skips.txt names it with its reason.
check_skips() {
  local preset=$1 name pattern reason known status=0 folder=build/$1/Testing/Temporary
  for name in $(sed -n 's/^.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*$/\1/p' "build/$preset/test.log"
                sed -n 's/^\[  SKIPPED \] \([^ ]*\) (.*$/\1/p' "$folder/LastTest.log"); do
    known=
    while read -r pattern reason; do
      # shellcheck disable=SC2254  # it is a pattern
      case "$name" in $pattern) known=$reason ;; esac
      case "$preset/$name" in $pattern) known=$reason ;; esac
    done < <(grep -v '^#' tests/skips.txt)
    if [ -n "$known" ]; then
      echo "skipped: $name: $known"
    else
      echo "error: $name was skipped and tests/skips.txt does not say why" >&2
      status=1
    fi
  done
  return $status
}

# run_tests PRESET [CTEST OPTION...]
run_tests() {
  local preset=$1
  shift
  local before=()
  [ "$preset" != tsan ] || before=("${fixed[@]}")
  "${before[@]}" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@" | tee "build/$preset/test.log"
  check_skips "$preset"
}

# g++ 12's thread sanitizer refuses to start where addresses are more random than it expects (Linux 6.6 and later).
fixed=()
if setarch -R true 2>/dev/null; then fixed=(setarch -R); fi

# Only C functions are called in libfrit-codegen, so the release build's serves the sanitized ones.
sanitized() {
  local preset=$1
  step "$preset: build" build "$preset" -DFRIT_CODEGEN_LIBRARY="$PWD/build/release/libfrit-codegen.so" "${@:2}"
  step "$preset: tests" run_tests "$preset" -LE full
}

if [ $install -eq 1 ]; then step packages packages; fi
find_nvrtc build/nvrtc
# A fresh folder is built many files at once, in half the time; one that is there stays as its owner set it up.
whole=()
[ -f build/release/CMakeCache.txt ] || whole=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16)
step 'release: build' build release "${whole[@]}"
if [ $full -eq 1 ]; then
  step 'release: tests' run_tests release
  step 'dev: build' build dev
  step tidy tools/tidy.sh
else
  step 'release: tests' run_tests release -LE full
fi
if [ $quick -eq 0 ]; then
  if [ $full -eq 1 ]; then sanitized asan -DFRIT_SANITIZE_SKIP=; else sanitized asan; fi
  sanitized tsan
fi
