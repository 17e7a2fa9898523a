#!/bin/sh
# usage: symbols.sh NM READELF LIBRARY HEADER ABI
# The shared library exports what the header declares and nothing else, carries its SONAME, and
# stays mapped after dlclose.
set -eu
nm=$1 readelf=$2 library=$3 header=$4 abi=$5
failed=0
fail() { echo "FAILED: $1"; failed=1; }

exported=$("$nm" -D --defined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u)
# cbindgen starts each declaration at the margin; what the header itself defines is static.
declared=$(grep -E '^[a-z][a-zA-Z0-9_ *]*[ *]fxir_[a-z0-9_]+\(' "$header" | grep -Ev '^(static|typedef)' |
    sed -E 's/^[^(]*[ *](fxir_[a-z0-9_]+)\(.*/\1/' | sort -u)

[ -n "$exported" ] || fail "the library exports nothing"
for symbol in $exported; do
    case $symbol in
    fxir_*) printf '%s\n' "$declared" | grep -qx "$symbol" || fail "$symbol is exported but not in the header" ;;
    *) fail "$symbol is exported and is none of ours" ;;
    esac
done
for symbol in $declared; do
    printf '%s\n' "$exported" | grep -qx "$symbol" || fail "$symbol is in the header but not exported"
done

dynamic=$("$readelf" -d "$library")
echo "$dynamic" | grep -q "SONAME.*\[libfxir\.so\.$abi\]" || fail "the SONAME is not libfxir.so.$abi"
echo "$dynamic" | grep -q 'NODELETE' || fail "the library is not linked with nodelete"
echo "$(printf '%s\n' "$exported" | wc -l) symbols exported, $(printf '%s\n' "$declared" | wc -l) declared"
exit $failed
