#!/usr/bin/env bash
# Fills the kit in for one office. usage: make-kit.sh OUT HOST PORT HOSTKEY.pub [SPARE.pub ...]
#
#   deploy/windows/make-kit.sh kit box.office.example 8022 /var/lib/secondchair/gateway/*.pub
#
# OUT is then handed to each PC by a way that cannot be tampered with (a USB stick, the firm's own
# share): its known_hosts is what makes sure that the box is yours. It holds no secret.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 4 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1 host=$2 port=$3
shift 3
[[ $host =~ ^[A-Za-z0-9.:-]+$ ]] || { echo "not a host name: use letters, digits, dots" >&2; exit 2; }
[[ $port =~ ^[0-9]{1,5}$ ]] || { echo "not a port" >&2; exit 2; }
[ ! -e "$out" ] || { echo "$out is there already" >&2; exit 2; }

mkdir -p "$out/pictures"
name="[$host]:$port"
[ "$port" = 22 ] && name=$host
: > "$out/known_hosts"
prints=""
for key in "$@"; do
  if ! ssh-keygen -l -f "$key" >/dev/null 2>&1 || grep -q "PRIVATE KEY" "$key"; then
    echo "not a public key: ${key##*/}" >&2; rm -r "$out"; exit 2
  fi
  printf '%s %s\n' "$name" "$(cut -d' ' -f1,2 "$key")" >> "$out/known_hosts"
  prints="$prints${prints:+,}$(ssh-keygen -l -E sha256 -f "$key" | cut -d' ' -f2)"
done
sed -e "s/@HOST@/$host/" -e "s/@PORT@/$port/" "$here/config.snippet" > "$out/config"
cp "$here/setup.ps1" "$here/remove.ps1" "$here/Start-secondchair.cmd" "$here/GUIDE.md" "$out/"
cp "$here/../../docs/pictures/reply-120.svg" "$here/../../docs/pictures/findings-200.svg" "$out/pictures/"

# PuTTY takes pinned keys by fingerprint, several of them; WinSCP reads PuTTY's sessions.
printf '%s\r\n' \
  'Windows Registry Editor Version 5.00' '' \
  '[HKEY_CURRENT_USER\Software\SimonTatham\PuTTY\Sessions\secondchair]' \
  "\"HostName\"=\"$host\"" \
  "\"PortNumber\"=dword:$(printf '%08x' "$port")" \
  '"Protocol"="ssh"' \
  '"UserName"="lawyer"' \
  "\"SSHManualHostKeys\"=\"$prints\"" \
  '"AgentFwd"=dword:00000000' \
  '"X11Forward"=dword:00000000' \
  '"LineCodePage"="UTF-8"' \
  '"PingIntervalSecs"=dword:0000000f' \
  '"NoRemoteWinTitle"=dword:00000001' > "$out/putty.reg"
echo "$out: for $name, keys $prints" >&2
