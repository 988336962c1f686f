#!/usr/bin/env bash
# Installs llama-cpp-python into .venv from a wheel that is compiled once with portable flags and kept
# in the user's cache folder, keyed by version and flags. usage: deploy/llama-python.sh [--if-built]
# Compiling takes 5 to 15 minutes on two cores; with --if-built nothing is compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^llama-cpp-python==//ip' constraints.txt)
wheels=${XDG_CACHE_HOME:-$HOME/.cache}/secondchair/wheels/llama-cpp-python-$version-native-off
pip=(.venv/bin/python -m pip --disable-pip-version-check)

if .venv/bin/python -c "import importlib.metadata as m, sys; sys.exit(m.version('llama-cpp-python') != '$version')" 2>/dev/null; then
  exit 0
fi
if ! compgen -G "$wheels/*.whl" >/dev/null; then
  [ "${1:-}" = --if-built ] && exit 0
  if ! command -v cc >/dev/null || ! command -v c++ >/dev/null; then
    echo "setup: a C++ compiler is needed for llama-cpp-python (Debian: apt-get install build-essential)" >&2
    exit 1
  fi
  echo "setup: compiling llama-cpp-python $version (5 to 15 minutes, once)" >&2
  mkdir -p "$wheels"
  CMAKE_ARGS="-DGGML_NATIVE=OFF" nice -n 10 "${pip[@]}" wheel --quiet --no-deps -w "$wheels" "llama-cpp-python==$version"
fi
"${pip[@]}" install --quiet --no-deps "$wheels"/*.whl
"${pip[@]}" install --quiet -c constraints.txt diskcache jinja2 numpy typing-extensions
