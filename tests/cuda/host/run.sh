#!/usr/bin/env bash
# The kernels' source as C++ on a CPU, under AddressSanitizer and UndefinedBehaviorSanitizer (needs g++).
#
#   tests/cuda/host/run.sh [SEED]
#
# It tests the source, not the PTX made from it, and no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
target=$(realpath -m "${CARGO_TARGET_DIR:-../../../target}")/cuda_host
mkdir -p "$target"
flags=(-std=c++17 -O1 -g -Wall -Wextra -Werror -Wno-unknown-pragmas
  -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
"${CXX:-g++}" "${flags[@]}" -I ../../../src/cuda/kernels -o "$target/kernels" main.cpp
"$target/kernels" "$@"
