#!/usr/bin/env bash
# From a fresh machine to a tuned network: installs packages, builds, makes ResNet-50, tunes it for a minute, shows what that
# won, and what a second process finds.
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
    --budget) budget=${2:?--budget needs a time}; shift ;;
    --threads) threads=${2:?--threads needs a number}; shift ;;
    *) sed -n '2,6p' "$0" | cut -c3- >&2; exit 2 ;;
  esac
  shift
done

if [ $install -eq 0 ]; then
  echo "packages: ${FRIT_BUILD_PACKAGES[*]}"
  exit 0
fi
install_packages "${FRIT_BUILD_PACKAGES[@]}"
# A fresh folder is built many files at once, in half the time; one that is there stays as its owner set it up.
whole=()
[ -f build/release/CMakeCache.txt ] || whole=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16)
cmake --preset release -DFRIT_TESTS=OFF "${whole[@]}"
cmake --build --preset release -j "$(nproc)"

frit=build/release/frit
work=build/quickstart
model=$work/resnet50.onnx
mkdir -p "$work"
[ -f "$model" ] || "$frit" zoo make resnet50 -o "$model"
echo
echo "== ResNet-50 on this machine: searching for faster kernels, $threads thread(s), at most $budget =="
"$frit" tune "$model" --threads "$threads" --budget "$budget"
echo
echo "== a second process: it finds everything in the cache, searches nothing, compiles nothing =="
"$frit" run "$model" --threads "$threads" --repeat 10 --on-miss error
echo
echo "next: $frit bench $model --threads $threads --profile   (where the time goes)"
echo "      $frit explain $model --groups             (what was fused, and why)"
