#!/bin/sh
# usage: stage.sh CMAKE BUILD_DIR PREFIX
set -eu
rm -rf "$3" "$3.stage"
"$1" --install "$2" --prefix "$3.stage"
mv "$3.stage" "$3"
