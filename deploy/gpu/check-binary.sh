#!/bin/sh
# Whether a llama-server binary was built for the cards of this box and sees them.
#
#   check-binary.sh [--arch 70] [--cards N] BINARY
#
# A build without the right code still starts and answers, from the processor, at a tenth of the speed.
# Looked at: the machine code of its CUDA library (cuobjdump lists sm_NN for every --arch), the flags we
# give (--help), and with --cards the number of cards it finds. Exit 1 when something is missing.
set -eu
arch=70
cards=
while [ $# -gt 0 ]; do
    case "$1" in
    --arch) arch=$2 && shift ;;
    --cards) cards=$2 && shift ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "check-binary: unknown option $1" >&2 && exit 2 ;;
    *) break ;;
    esac
    shift
done
[ $# = 1 ] || { echo "check-binary: one binary is wanted" >&2 && exit 2; }
binary=$1
[ -x "$binary" ] || { echo "check-binary: $binary cannot be executed" >&2 && exit 1; }
wrong=0

code=$binary
for library in "$(dirname "$binary")"/libggml-cuda.so*; do
    [ ! -f "$library" ] || code=$library
done
command -v cuobjdump >/dev/null || { echo "check-binary: cuobjdump is not on PATH" >&2 && exit 1; }
found=$(cuobjdump --list-elf "$code" 2>/dev/null || true)
for one in $(echo "$arch" | tr ';' ' '); do
    if echo "$found" | grep -q "sm_$one\b"; then
        echo "ok     machine code for sm_$one"
    else
        echo "FAILS  no machine code for sm_$one in $(basename "$code")"
        wrong=1
    fi
done

help=$("$binary" --help 2>&1 || true)
for flag in --fit --cache-ram --split-mode --tensor-split --n-gpu-layers --flash-attn; do
    if echo "$help" | grep -q -e "$flag\b"; then
        echo "ok     knows $flag"
    else
        echo "FAILS  does not know $flag: the build is too old"
        wrong=1
    fi
done

if [ -n "$cards" ]; then
    seen=$("$binary" --list-devices 2>/dev/null | grep -c '^ *CUDA[0-9]' || true)
    if [ "$seen" = "$cards" ]; then
        echo "ok     sees $seen cards"
    else
        echo "FAILS  sees $seen cards, $cards are wanted"
        wrong=1
    fi
fi
exit $wrong
