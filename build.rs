//! Names the shared library for the dynamic linker and keeps it mapped for good.
//!
//! A program finds the library at run time by its SONAME, `libfxir.so.<abi>`, so that one built
//! against another ABI is never loaded by mistake. `nodelete` makes `dlclose` leave the code in
//! place: threads of the host may still have destructors of ours to run when they end.

/// The same number as `FXIR_ABI_VERSION` in the header; `tests/header_drift.rs` compares the two.
const ABI: u32 = 1;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=FXIR_SONAME_ABI={ABI}");

    // Windows and Apple linkers know neither flag.
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("FAMILY") == "unix" && target("VENDOR") != "apple" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfxir.so.{ABI}");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
