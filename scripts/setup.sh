#!/bin/sh
# usage: scripts/setup.sh build|valgrind...
#
# Sees to it that the tools are there, and does nothing where they are:
#   build      a C and a C++ compiler, cargo, python3 (checked), cmake (installed if missing)
#   valgrind   valgrind (installed if missing)
# Installs by apt-get where that works (as root, or by sudo without a password). cmake comes from
# pip otherwise, into .venv in this folder, which the Makefile puts on the PATH.
# FXIR_NO_APT=1 leaves the system's packages alone.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
cmake_needed=3.21

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Installs packages by apt-get; false where there is no apt-get, no right to use it, or no luck.
apt() {
    [ "${FXIR_NO_APT:-}" != 1 ] && have apt-get || return 1
    as_root=
    if [ "$(id -u)" != 0 ]; then
        have sudo && sudo -n true 2>/dev/null || return 1
        as_root='sudo -n'
    fi
    say "installing $* by apt-get"
    log=$(mktemp)
    if { $as_root apt-get update &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        >"$log" 2>&1 </dev/null; then
        rm -f "$log"
    else
        say "apt-get could not install $*:"
        tail -n 5 "$log"
        rm -f "$log"
        return 1
    fi
}

cmake_is_new_enough() {
    have cmake || return 1
    found=$(cmake --version | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
    [ "$(printf '%s\n%s\n' "$cmake_needed" "$found" | sort -V | head -n 1)" = "$cmake_needed" ]
}

cmake_by_pip() {
    say "installing cmake by pip into .venv"
    { python3 -m venv .venv && .venv/bin/python -m pip install --quiet --disable-pip-version-check 'cmake>=3.21,<4'; } \
        </dev/null || return 1
    hash -r 2>/dev/null || true
}

setup_build() {
    for compiler in cc c++; do
        have $compiler || apt gcc g++ || die "there is no $compiler: install gcc and g++"
    done
    have cargo || die "there is no cargo: install Rust 1.95 or newer (https://rustup.rs)"
    have python3 || die "there is no python3"
    cmake_is_new_enough && return
    { apt cmake && cmake_is_new_enough; } || { cmake_by_pip && cmake_is_new_enough; } ||
        die "cmake $cmake_needed or newer is needed, and neither apt-get nor pip could install it"
    say "using $(command -v cmake), $(cmake --version | head -n 1)"
}

setup_valgrind() {
    have valgrind || apt valgrind || die "there is no valgrind, and apt-get could not install it"
}

for what in "$@"; do
    case $what in
    build) setup_build ;;
    valgrind) setup_valgrind ;;
    *) die "what is '$what'?" ;;
    esac
done
