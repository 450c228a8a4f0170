#!/usr/bin/env bash
# The distribution packages that frit needs, and how they are installed. Sourced by quickstart.sh and test.sh.
# Debian 12 (or later) and Ubuntu 24.04 (or later).

FRIT_BUILD_PACKAGES=(
  g++ cmake ninja-build pkg-config
  llvm-19-dev zlib1g-dev libzstd-dev libxml2-dev libedit-dev
  libsqlite3-dev libprotozero-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev
)
FRIT_TEST_PACKAGES=(libgtest-dev libgmock-dev python3 python3-pip)
FRIT_FULL_PACKAGES=(g++-aarch64-linux-gnu qemu-user clang-tidy-19)

# install_packages NAME...: installs those that are missing; needs root or sudo only when something is.
install_packages() {
  local missing=() unknown=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "installing: ${missing[*]}" >&2
  local as_root=(env)
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "error: root or sudo is needed to install: ${missing[*]}" >&2; return 1; }
    as_root=(sudo env)
  fi
  "${as_root[@]}" apt-get update -qq
  for name in "${missing[@]}"; do
    apt-cache show --no-all-versions "$name" >/dev/null 2>&1 || unknown+=("$name")
  done
  if [ ${#unknown[@]} -ne 0 ]; then
    echo "error: the package sources of this machine do not have: ${unknown[*]}" >&2
    echo "hint: Debian 12 or later has them in main (llvm-19 since a point release: bookworm as it is on the mirrors" >&2
    echo "hint: today); Ubuntu 24.04 or later in universe, llvm-19 in noble-updates" >&2
    return 1
  fi
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# find_nvrtc FOLDER: exports FRIT_NVRTC, the compiler of CUDA C++ that the CUDA tests use, unless it is set or CUDA is
# installed: NVIDIA's wheel from PyPI, unpacked into the folder. Without a network the tests are skipped.
find_nvrtc() {
  [ -n "${FRIT_NVRTC:-}" ] && return 0
  compgen -G '/usr/local/cuda/lib64/libnvrtc.so.1[3-9]' >/dev/null && return 0
  local folder=$1 library
  library=$(compgen -G "$folder/nvidia/cuda_nvrtc/lib/libnvrtc.so.12" || true)
  if [ -z "$library" ]; then
    mkdir -p "$folder"
    if timeout 300 python3 -m pip download --quiet --no-deps --dest "$folder" 'nvidia-cuda-nvrtc-cu12>=12.8' >&2; then
      python3 -m zipfile -e "$folder"/nvidia_cuda_nvrtc_cu12-*.whl "$folder" || true
      rm -f "$folder"/nvidia_cuda_nvrtc_cu12-*.whl
    fi
    library=$(compgen -G "$folder/nvidia/cuda_nvrtc/lib/libnvrtc.so.12" || true)
  fi
  if [ -z "$library" ]; then
    echo "no NVRTC: the CUDA tests that compile will be skipped" >&2
    return 0
  fi
  export FRIT_NVRTC="$PWD/$library"
}
