#!/bin/sh
# Builds llama.cpp for the cards of this box from a checked-out source tree.
#
#   build-llama.sh [--dry-run] [--arch 70] [--jobs N] SOURCE TARGET
#
# Volta (sm_70) needs a CUDA 12 toolkit: CUDA 13 no longer knows it. --arch takes cmake's list: "70" for
# V100 boxes, "70;86" where RTX 3090 are in the same box, "121a" on a DGX Spark (there with CUDA 13).
# The binary is checked with check-binary.sh before it goes to TARGET/bin; the one before is kept beside
# it as llama-server.before, for `fallback_binary`.
set -eu
run=1
arch=70
jobs=$(nproc)
while [ $# -gt 0 ]; do
    case "$1" in
    --dry-run) run=0 ;;
    --arch) arch=$2 && shift ;;
    --jobs) jobs=$2 && shift ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "build-llama: unknown option $1" >&2 && exit 2 ;;
    *) break ;;
    esac
    shift
done
[ $# = 2 ] || { echo "build-llama: SOURCE and TARGET are wanted" >&2 && exit 2; }
source=$1 target=$2
here=$(cd "$(dirname "$0")" && pwd)
[ -f "$source/CMakeLists.txt" ] || { echo "build-llama: $source is no source tree" >&2 && exit 2; }

release=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
[ -n "$release" ] || { echo "build-llama: nvcc is not on PATH; install the CUDA toolkit" >&2 && exit 1; }
case ";$arch;" in
*";70"*)
    if [ "$release" -ge 13 ]; then
        echo "build-llama: CUDA $release no longer builds for Volta; use a CUDA 12 toolkit" >&2
        exit 1
    fi
    ;;
esac

set -- -S "$source" -B "$source/build-$(echo "$arch" | tr ';' '-')" \
    -DCMAKE_BUILD_TYPE=Release -DGGML_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$arch" \
    -DGGML_NATIVE=ON -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF
build=$source/build-$(echo "$arch" | tr ';' '-')
if [ $run = 0 ]; then
    echo "cmake $*"
    echo "cmake --build $build --target llama-server -j $jobs"
    echo "$here/check-binary.sh --arch '$arch' $build/bin/llama-server"
    echo "install to $target/bin/llama-server"
    exit 0
fi
cmake "$@"
cmake --build "$build" --target llama-server -j "$jobs"
"$here/check-binary.sh" --arch "$arch" "$build/bin/llama-server"
mkdir -p "$target/bin"
[ ! -f "$target/bin/llama-server" ] || mv "$target/bin/llama-server" "$target/bin/llama-server.before"
cp -a "$build/bin/." "$target/bin/"
sha256sum "$target/bin/llama-server"
