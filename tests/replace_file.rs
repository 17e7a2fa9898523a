//! Files are replaced whole or not at all.

use std::fs;
use std::io;

use fxir::formats::replace_file::replace_file;
use fxir::ir::error::ErrorKind;

#[test]
fn a_failure_or_panic_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    replace_file(&path, |out| out.write_all(b"one")).unwrap();
    let failed = replace_file(&path, |out| {
        out.write_all(b"half")?;
        Err(io::Error::other("stop"))
    });
    assert_eq!(failed.unwrap_err().kind, ErrorKind::Io);
    let panicked = std::panic::catch_unwind(|| replace_file(&path, |_| panic!("in the middle")));
    assert!(panicked.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    replace_file(&path, |out| out.write_all(b"two")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{symlink, PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&path, "one").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("file", &link).unwrap();
    replace_file(&link, |out| out.write_all(b"two")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_path_that_names_no_file_is_an_error() {
    let error = replace_file("".as_ref(), |_| Ok(())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Io);
    let error = replace_file("/".as_ref(), |_| Ok(())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Io);
}
