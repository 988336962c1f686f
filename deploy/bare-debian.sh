#!/usr/bin/env bash
# README's two commands on a Debian that has nothing: what a stranger meets, timed.
# usage (root): deploy/bare-debian.sh FOLDER [SUITE]
#   BARE_DEBIAN_LEND="FOLDER ..." lends further folders, where a package index of files needs them.
#
# Makes a minimal system in FOLDER (debootstrap, python3-venv, git and make; nothing else), clones the
# commit that is checked out here, and runs `make demo` twice in it with nobody at the keyboard. Packages
# come from where this machine takes them: its Debian mirror and pip's settings are lent for the length
# of the run, mounted or set as variables, and nothing of them is left in FOLDER. Prints the seconds to
# the first annotated reply of each run, and whether the board's model worded it.
set -euo pipefail
folder=${1:?usage: deploy/bare-debian.sh FOLDER [SUITE]}
suite=${2:-bookworm}
here=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" = 0 ] || { echo "bare-debian: only root can make a system" >&2; exit 1; }
for tool in debootstrap unshare git; do
  command -v "$tool" >/dev/null || { echo "bare-debian: $tool is missing" >&2; exit 1; }
done
if [ "${BARE_DEBIAN_INSIDE:-}" != yes ]; then  # mounts below end with this namespace, however it ends
  exec env BARE_DEBIAN_INSIDE=yes unshare --mount --pid --fork --kill-child "$0" "$folder" "$suite"
fi
HOME=$(getent passwd 0 | cut -d: -f6)  # root's, here as in the new system
say() { printf 'bare-debian: %s\n' "$*" >&2; }

if [ ! -x "$folder/usr/bin/git" ]; then
  say "a minimal $suite in $folder"
  mirror=$(apt-get indextargets --format '$(SITE)' "Codename: $suite" 2>/dev/null | head -n 1)
  debootstrap --variant=minbase --include=python3-venv,git,make,ca-certificates \
    "$suite" "$folder" ${mirror:+"$mirror"} >"$folder.log" 2>&1 || { tail -n 5 "$folder.log" >&2; exit 1; }
fi
rm -rf "$folder/srv/secondchair" "$folder$HOME/.cache"
git clone --quiet --no-local "$here" "$folder/srv/secondchair"

mount -t proc proc "$folder/proc"
mount -t tmpfs -o mode=755 tmpfs "$folder/dev"
for node in null zero random urandom tty; do
  touch "$folder/dev/$node" && mount --bind "/dev/$node" "$folder/dev/$node"
done
mkdir "$folder/dev/shm" && mount -t tmpfs tmpfs "$folder/dev/shm"
declare -A is_lent=()
lent() {  # a file or folder of this machine, read-only at the same place
  [ -n "$1" ] && [ -e "$1" ] && [ -z "${is_lent[$1]:-}" ] || return 0
  is_lent[$1]=yes
  if [ -d "$1" ]; then mkdir -p "$folder$1"; else mkdir -p "$folder$(dirname "$1")"; touch "$folder$1"; fi
  mount --bind -o ro "$1" "$folder$1"
}
lent /etc/resolv.conf
for place in /etc/pip.conf /etc/xdg/pip "$HOME/.config/pip" "${PIP_CERT:-}" "${SSL_CERT_FILE:-}"; do
  lent "$place"
done
# Folders of packages that pip's settings name.
for place in ${BARE_DEBIAN_LEND:-} $(python3 -m pip config list 2>/dev/null | grep -oE "(file://)?/[^' ]+" | sed 's#^file://##'); do
  [ -d "$place" ] && lent "$place"
done

inside() {  # each line of what runs, with the seconds since it began
  local started=$SECONDS line rc=0
  { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$HOME" LANG=C.UTF-8 \
      $(env | grep -E '^(PIP|SSL)_[A-Z_]+=[^ ]*$' || true) \
      chroot "$folder" sh -c 'cd /srv/secondchair && make demo </dev/null 2>&1' || rc=$?
    echo "exit $rc"; } |
  while IFS= read -r line; do printf '%5d %s\n' $((SECONDS - started)) "$line"; done
}
for run in first second; do
  say "make demo, $run run"
  log="$folder.$run.log"
  inside >"$log"
  grep -q '^ *[0-9]* exit 0$' "$log" || { say "it did not end well:"; tail -n 20 "$log" >&2; exit 1; }
  seconds=$(grep -m 1 -E '[0-9]+ verified · ' "$log" | awk '{print $1}')
  worded=$(grep -m 1 -oE '[0-9]+ tok/s on board [A-Za-z0-9]+' "$log" || echo "the record alone")
  echo "$run run: first annotated reply after ${seconds:?no reply was shown} s, worded by: $worded"
done
