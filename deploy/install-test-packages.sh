#!/usr/bin/env bash
# The Debian packages that some tests use. Installed only as root or with CI=true; elsewhere the one
# command is named, and the tests that need a missing package skip with the reason.
set -euo pipefail
declare -A package_of=(
  [ssh]=openssh-client
  [sftp]=openssh-client
  [tesseract]=tesseract-ocr
  [plink]=putty-tools
  [pdftoppm]=poppler-utils
  [antiword]=antiword
  [catdoc]=catdoc
  [gcc]=gcc
  [psql]=postgresql
  [systemd-analyze]=systemd
)
missing=()
for command in "${!package_of[@]}"; do
  command -v "$command" >/dev/null || missing+=("${package_of[$command]}")
done
if command -v dpkg-query >/dev/null && ! dpkg-query -W tesseract-ocr-kor >/dev/null 2>&1; then
  missing+=(tesseract-ocr-kor)
fi
[ ${#missing[@]} -eq 0 ] && exit 0
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)

if ! command -v apt-get >/dev/null; then
  echo "setup: not installed: ${missing[*]} (their tests skip)" >&2
  exit 0
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
  if [ "${CI:-}" != true ] || ! command -v sudo >/dev/null; then
    echo "setup: some tests will skip; for all of them: sudo apt-get install ${missing[*]}" >&2
    exit 0
  fi
  as_root=(sudo)
fi
echo "setup: Debian packages for the tests: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if "${as_root[@]}" apt-get update -qq >"$log" 2>&1 &&
   "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
  rm -f "$log"
else
  tail -n 5 "$log" >&2
  rm -f "$log"
  if [ "${CI:-}" = true ]; then
    echo "setup: the packages could not be installed" >&2
    exit 1
  fi
  echo "setup: the packages could not be installed; their tests skip" >&2
fi
