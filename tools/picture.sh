#!/usr/bin/env bash
# Makes the picture of README.md again, on this machine: tunes a network of the zoo, measures, draws tools/tuned.svg.
# Needs the build of tools/quickstart.sh. What is tuned already is only measured.
#
# usage: tools/picture.sh [--network resnet50] [--budget 120s] [--threads N]
set -euo pipefail
cd "$(dirname "$0")/.."

network=resnet50 budget=120s threads=1
while [ $# -gt 0 ]; do
  case "$1" in
    --network) network=$2; shift ;;
    --budget) budget=$2; shift ;;
    --threads) threads=$2; shift ;;
    *) sed -n '2,5p' "$0" | cut -c3- >&2; exit 2 ;;
  esac
  shift
done

frit=build/release/frit
work=build/quickstart
mkdir -p "$work"
[ -f "$work/$network.onnx" ] || "$frit" zoo make "$network" -o "$work/$network.onnx"
"$frit" tune "$work/$network.onnx" --threads "$threads" --budget "$budget" --json > "$work/$network.json"
python3 tools/plot.py "$work/$network.json" -o tools/tuned.svg
echo "wrote tools/tuned.svg"
