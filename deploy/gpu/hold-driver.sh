#!/bin/sh
# Keeps the NVIDIA driver on branch 580, the last one that knows Volta, and keeps unattended upgrades
# away from it: an exchange under a running box stops every card until a restart.
#
#   hold-driver.sh [--dry-run] [--check] [--branch 580]
#
# Writes an apt pin and an unattended-upgrades blocklist, and holds every installed package of the
# driver together: half of them at another version is the same as none. --check changes nothing and
# exits with 1 when something is missing. Debian and Ubuntu. Undo: apt-mark unhold, remove both files.
set -eu
branch=580
do_it=1
check=0
while [ $# -gt 0 ]; do
    case "$1" in
    --dry-run) do_it=0 ;;
    --check) check=1 do_it=0 ;;
    --branch) branch=$2 && shift ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "hold-driver: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done
case "$branch" in '' | *[!0-9]*) echo "hold-driver: a branch is a number" >&2 && exit 2 ;; esac

root=${SECONDCHAIR_ROOT:-}
pin=$root/etc/apt/preferences.d/secondchair-nvidia
block=$root/etc/apt/apt.conf.d/52secondchair-nvidia
missing=0
# Everything that must be of one version; the container toolkit and CUDA itself have versions of their own.
packages_of_driver="nvidia-driver* nvidia-dkms* nvidia-kernel* nvidia-open* nvidia-utils* nvidia-compute* \
nvidia-headless* nvidia-firmware* nvidia-smi* nvidia-persistenced* libnvidia-cfg* libnvidia-common* \
libnvidia-compute* libnvidia-decode* libnvidia-encode* libnvidia-extra* libnvidia-fbc* libnvidia-gl* \
libnvidia-ml* libcuda1* cuda-drivers* xserver-xorg-video-nvidia*"

installed() {
    dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' 2>/dev/null |
        awk '$1 ~ /^[hi]i/ && $2 ~ /^(nvidia-|libnvidia-|xserver-xorg-video-nvidia|cuda-drivers|linux-modules-nvidia-)/ \
             && $2 !~ /container|cuda-toolkit/ { print $2, $3 }'
}

put() { # path, text on standard input
    text=$(cat)
    if [ -f "$1" ] && [ "$(cat "$1")" = "$text" ]; then
        echo "ok       ${1#"$root"}"
    elif [ $do_it = 1 ]; then
        mkdir -p "$(dirname "$1")"
        printf '%s\n' "$text" >"$1"
        chmod 644 "$1"
        echo "written  ${1#"$root"}"
    else
        echo "missing  ${1#"$root"}"
        missing=1
    fi
}

put "$pin" <<EOF
Explanation: branch $branch is the last one for Volta cards; 595 loads and leaves them out.
Package: $packages_of_driver
Pin: version $branch.*
Pin-Priority: 1001

Package: $packages_of_driver
Pin: version *
Pin-Priority: -1
EOF
put "$block" <<'EOF'
// The driver is never exchanged while the box runs.
Unattended-Upgrade::Package-Blacklist {
    "nvidia-";
    "libnvidia-";
    "linux-modules-nvidia-";
    "cuda-drivers";
};
EOF

packages=$(installed)
if [ -z "$packages" ]; then
    echo "no package of the driver is installed; install branch $branch and run this again"
    [ $check = 0 ] || exit 1
    exit 0
fi
odd=$(echo "$packages" | awk -v branch="$branch" \
    '$2 ~ /[0-9]+\.[0-9]+\.[0-9]+/ { match($2, /[0-9]+\.[0-9]+\.[0-9]+/); v = substr($2, RSTART, RLENGTH);
      split(v, part, "."); if (part[1] + 0 >= 400 && part[1] != branch) print $1, $2 }')
if [ -n "$odd" ]; then
    echo "of another branch than $branch:" >&2
    echo "$odd" | sed 's/^/  /' >&2
    echo "install the packages of branch $branch first, then run this again" >&2
    exit 1
fi
held=$(apt-mark showhold)
for package in $(echo "$packages" | cut -d' ' -f1); do
    if echo "$held" | grep -qx "$package"; then
        echo "held     $package"
    elif [ $do_it = 1 ]; then
        apt-mark hold "$package" >/dev/null
        echo "held     $package"
    else
        echo "not held $package"
        missing=1
    fi
done
[ $check = 0 ] || exit $missing
