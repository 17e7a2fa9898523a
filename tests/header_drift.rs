//! `include/fxir.h` is what cbindgen makes of `src/capi` today.
//!
//! `make header` (this test with `FXIR_WRITE_HEADER=1`) writes it anew.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The header as cbindgen makes it now.
///
/// cbindgen is given the module `src/capi`, not the crate: so no `pub const` of the core gets into
/// the header, and nothing has to be asked of cargo, which might want a network.
fn generate() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root().join("src/capi/mod.rs"))
        .generate()
        .expect("cbindgen reads src/capi");
    let mut header = Vec::new();
    bindings.write(&mut header);
    String::from_utf8(header).expect("the header is UTF-8")
}

fn committed(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn header_is_up_to_date() {
    let path = root().join("include/fxir.h");
    let made = generate();
    let kept = committed(&path);
    if std::env::var_os("FXIR_WRITE_HEADER").is_some() {
        if made != kept {
            std::fs::create_dir_all(root().join("include")).expect("include/ is there");
            std::fs::write(&path, &made).expect("the header is written");
            println!("wrote include/fxir.h");
        }
        return;
    }
    if let Some(line) = first_difference(&kept, &made) {
        panic!(
            "include/fxir.h differs from src/capi at line {line}: run `make header` and commit it\n\
             kept: {:?}\nmade: {:?}",
            kept.lines().nth(line - 1),
            made.lines().nth(line - 1),
        );
    }
}

/// The first line, from 1, in which two texts differ.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return None;
    }
    let alike = one.lines().zip(other.lines()).take_while(|(a, b)| a == b).count();
    Some(alike + 1)
}

#[test]
fn header_states_the_versions() {
    let header = committed(&root().join("include/fxir.h"));
    let stated = |name: &str| {
        let define = format!("#define {name} ");
        let line = header.lines().find_map(|line| line.strip_prefix(&define));
        line.unwrap_or_else(|| panic!("the header has no {name}")).trim().to_owned()
    };
    assert_eq!(stated("FXIR_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MAJOR"));
    assert_eq!(stated("FXIR_VERSION_MINOR"), env!("CARGO_PKG_VERSION_MINOR"));
    assert_eq!(stated("FXIR_VERSION_PATCH"), env!("CARGO_PKG_VERSION_PATCH"));
    assert_eq!(stated("FXIR_ABI_VERSION"), env!("FXIR_SONAME_ABI"), "build.rs and src/capi differ");
}
