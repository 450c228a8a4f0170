#!/usr/bin/env bash
# From a fresh machine to a tuned network: installs packages, builds, makes ResNet-50, tunes it for a minute, runs it, and
# shows what a second process finds.
#
# usage: tools/quickstart.sh [--no-install] [--budget 60s] [--threads N]
#   --no-install  only lists the packages that are needed
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

install=1 budget=60s threads=1
while [ $# -gt 0 ]; do
  case "$1" in
    --no-install) install=0 ;;
    --budget) budget=$2; shift ;;
    --threads) threads=$2; shift ;;
    *) sed -n '2,6p' "$0" | cut -c3- >&2; exit 2 ;;
  esac
  shift
done

if [ $install -eq 0 ]; then
  echo "packages: ${FRIT_BUILD_PACKAGES[*]}"
  exit 0
fi
install_packages "${FRIT_BUILD_PACKAGES[@]}"
cmake --preset release -DFRIT_TESTS=OFF
cmake --build --preset release -j "$(nproc)"

frit=build/release/frit
work=build/quickstart
mkdir -p "$work"
export FRIT_CACHE=$PWD/$work/cache.sqlite
[ -f "$work/resnet50.onnx" ] || "$frit" zoo make resnet50 -o "$work/resnet50.onnx"
echo
echo "== tuning ResNet-50 on this machine, $threads thread(s), at most $budget =="
"$frit" tune "$work/resnet50.onnx" --threads "$threads" --budget "$budget"
echo
echo "== a second process: nothing is searched, nothing is compiled =="
"$frit" run "$work/resnet50.onnx" --threads "$threads" --repeat 10
