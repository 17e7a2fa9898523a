# Has cargo build both libraries, and lays them out as they will be installed.
#
# Gives the target fxir_cargo, which runs cargo each time (cargo knows what has changed), and
#   FXIR_SHARED_LIBRARY    the shared library under its SONAME
#   FXIR_SHARED_FILES      the same with its symbolic links, to be installed
#   FXIR_STATIC_LIBRARY    the static library
#   FXIR_NATIVE_LIBRARIES  the system libraries that a program needs beside the static one

find_program(FXIR_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" REQUIRED)

set(built "${FXIR_CARGO_TARGET_DIR}/release")
set(library_dir "${PROJECT_BINARY_DIR}/lib")
file(MAKE_DIRECTORY "${library_dir}")

set(full_name "libfxir.so.${PROJECT_VERSION}")
set(FXIR_SHARED_LIBRARY "${library_dir}/libfxir.so.${FXIR_ABI}")
set(FXIR_SHARED_FILES "${library_dir}/${full_name}" "${FXIR_SHARED_LIBRARY}" "${library_dir}/libfxir.so")
set(FXIR_STATIC_LIBRARY "${library_dir}/libfxir.a")

# The target folder is not the one of `cargo test`: with the tests' dependencies cargo chooses other
# features, so that in one folder each of the two builds would undo the other.
add_custom_target(fxir_cargo ALL
  COMMAND "${FXIR_CARGO}" build --release --lib
    --manifest-path "${PROJECT_SOURCE_DIR}/Cargo.toml" --target-dir "${FXIR_CARGO_TARGET_DIR}"
  COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${built}/libfxir.so" "${library_dir}/${full_name}"
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "${full_name}" "${FXIR_SHARED_LIBRARY}"
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "libfxir.so.${FXIR_ABI}" "${library_dir}/libfxir.so"
  COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${built}/libfxir.a" "${FXIR_STATIC_LIBRARY}"
  BYPRODUCTS ${FXIR_SHARED_FILES} "${FXIR_STATIC_LIBRARY}"
  COMMENT "Building fxir with cargo"
  VERBATIM USES_TERMINAL)

# What `cargo rustc --release --lib --crate-type staticlib -- --print native-static-libs` says on
# Linux, less libc itself; tests/c/install links with nothing else.
set(FXIR_NATIVE_LIBRARIES gcc_s util rt pthread m dl)
