#!/usr/bin/env bash
# Makes a Python virtual environment with the peers that models.py measures beside frit, at pinned versions.
#
# usage: tools/bench/peers.sh FOLDER [--torch]
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,4p' "$0" | cut -c3- >&2; exit 2; }
folder=$1
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0 openvino==2026.4.1
if [ "${2:-}" = --torch ]; then "$folder/bin/pip" install --quiet torch torchvision --index-url https://download.pytorch.org/whl/cpu; fi
echo "peers are in $folder; measure with: $folder/bin/python tools/bench/models.py MODEL.onnx"
