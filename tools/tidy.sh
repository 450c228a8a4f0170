#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy over everything that is not a test, several files at once as in a unity build.
# Any finding fails.
#
# usage: tools/tidy.sh [FOLDER...]     e.g. src/graph; by default all
set -euo pipefail
cd "$(dirname "$0")/.."
tidy=$(command -v clang-tidy-19 || command -v clang-tidy) || { echo "error: no clang-tidy (Debian: clang-tidy-19)" >&2; exit 1; }
cmake --preset dev -B build/tidy -DFRIT_TESTS=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 >/dev/null

# Configured files (the CUDA prelude, which is one string) are made by the build system, not by people.
mapfile -t files < <(python3 - "$@" <<'PYTHON'
import json, os, sys
wanted = [f.rstrip("/") + "/" for f in sys.argv[1:]]
for entry in json.load(open("build/tidy/compile_commands.json")):
    path = os.path.relpath(entry["file"])
    source = path.removeprefix("build/tidy/")
    if path.endswith("/prelude.cpp") or (wanted and not any(source.startswith(w) for w in wanted)):
        continue
    print(path)
PYTHON
)
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 "$tidy" -p build/tidy --quiet --warnings-as-errors='*'
