#!/usr/bin/env bash
# Installs what the tests need, builds, and passes the tests.
#
# usage: tools/test.sh [--full] [--no-install] [--jobs N]
#   --full        also the long ones: all networks by the evaluator and in every combination, AArch64 under qemu, longer fuzzing
#   --no-install  do not call the package manager
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

full=0 install=1 jobs=$(nproc)
while [ $# -gt 0 ]; do
  case "$1" in
    --full) full=1 ;;
    --no-install) install=0 ;;
    --jobs) jobs=$2; shift ;;
    *) sed -n '2,7p' "$0" | cut -c3- >&2; exit 2 ;;
  esac
  shift
done

if [ $install -eq 1 ]; then
  install_packages "${FRIT_BUILD_PACKAGES[@]}" "${FRIT_TEST_PACKAGES[@]}"
  if [ $full -eq 1 ]; then install_packages "${FRIT_FULL_PACKAGES[@]}"; fi
fi

find_nvrtc build/nvrtc
cmake --preset release -DFRIT_TESTS=ON  # quickstart.sh switches them off in the same folder
cmake --build --preset release -j "$jobs"
log=build/release/test.log
status=0
if [ $full -eq 1 ]; then
  ctest --test-dir build/release --output-on-failure --no-tests=error | tee "$log" || status=$?
else
  ctest --test-dir build/release --output-on-failure --no-tests=error -LE full | tee "$log" || status=$?
fi
[ $status -eq 0 ] || exit $status

# A skipped test is a failed one unless tests/skips.txt names it with its reason.
skipped=$(sed -n 's/^.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*$/\1/p' "$log")
for name in $skipped; do
  if grep -q "^$name " tests/skips.txt; then
    echo "skipped: $(grep "^$name " tests/skips.txt)"
  else
    echo "error: test $name was skipped and tests/skips.txt does not say why" >&2
    exit 1
  fi
done
