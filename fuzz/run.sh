#!/bin/sh
# usage: fuzz/run.sh [SECONDS [TARGET...]]     (600 seconds each of all targets by default)
#
# Runs the fuzz targets one after the other; what they find is put into build/fuzz/TARGET. Seeds are the
# recorded cases. cargo-fuzz is installed if it is missing. Fuzzing needs features of rustc that are not
# stable, hence RUSTC_BOOTSTRAP.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- json weights native literal python
command -v cargo-fuzz >/dev/null 2>&1 || {
    echo "fuzz: installing cargo-fuzz by cargo"
    cargo install --locked --quiet cargo-fuzz
}
export RUSTC_BOOTSTRAP=1
for target in "$@"; do
    corpus=build/fuzz/$target
    mkdir -p "$corpus"
    case $target in
    json) find tests/cases examples-c/data -name '*.json' -size -64k -exec cp {} "$corpus/" \; ;;
    weights) find tests/cases examples-c/data -name '*.safetensors' -size -64k -exec cp {} "$corpus/" \; ;;
    native)
        find tests/cases/native -name '*.fxir' -exec cp {} "$corpus/" \;
        # The document alone, with the one buffer that the target makes.
        for file in tests/cases/native/*.fxir; do
            LC_ALL=C sed -n -e 's/^.*{"version":/{"version":/' -e 's/"buffer":"[^"]*"/"buffer":"w"/g' \
                -e '/^{"version":/,$p' "$file" >"$corpus/$(basename "$file").json"
        done
        ;;
    python) find tests/cases/text tests/cases/pt2_versions -name '*.py' -exec cp {} "$corpus/" \; ;;
    literal) printf '%s' "[(1, -2.5e10), {'a': slice(None, 1, -2)}, b'\\x00', device(type='cuda', index=1), torch.float32]" >"$corpus/seed" ;;
    esac
    cargo fuzz run --fuzz-dir fuzz --target-dir build/fuzz/cargo "$target" "$corpus" -- \
        -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=1024 -timeout=20
done
