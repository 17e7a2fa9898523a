#!/bin/sh
# usage: link.sh cmake|pkgconfig|cc|static|dlopen PREFIX SCRATCH LIBDIR ABI
# Builds a program against the library installed in PREFIX in one of five ways, and runs it.
set -eu
way=$1 prefix=$2 scratch=$3 libdir=$2/$4 abi=$5
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch"
unset LD_LIBRARY_PATH

# A program that names the library needs it by its SONAME; a static one doesn't need it at all.
needs_soname() { readelf -d "$1" | grep -q "NEEDED.*\[libfxir\.so\.$abi\]"; }
needs_none() { ! readelf -d "$1" | grep -q 'NEEDED.*libfxir'; }

set -x
case $way in
cmake)
    "$CMAKE" -S "$here/cmake" -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
    "$CMAKE" --build build
    needs_soname build/user_shared && ./build/user_shared
    needs_none build/user_static && ./build/user_static
    ;;
pkgconfig)
    export PKG_CONFIG_PATH="$libdir/pkgconfig"
    $CC "$here/user.c" -o user $("$PKG_CONFIG" --cflags --libs fxir) -Wl,-rpath,"$libdir"
    needs_soname user && ./user
    rm "$scratch/user"
    # Static: the archive by name, then the system libraries that pkg-config adds.
    $CC "$here/user.c" -o user $("$PKG_CONFIG" --cflags --libs --static fxir | sed 's/-lfxir/-l:libfxir.a/')
    needs_none user && ./user
    ;;
cc)
    $CC "$here/user.c" -I"$prefix/include" -L"$libdir" -lfxir -Wl,-rpath,"$libdir" -o user
    needs_soname user && ./user
    ;;
static)
    $CC "$here/user.c" -I"$prefix/include" "$libdir/libfxir.a" -lpthread -ldl -lm -lgcc_s -o user
    needs_none user && ./user
    ;;
dlopen)
    $CC "$here/dlopen.c" -I"$prefix/include" -ldl -lpthread -o user
    needs_none user && ./user "$libdir/libfxir.so.$abi"
    ;;
esac
