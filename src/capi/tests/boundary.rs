use super::*;
use crate::capi::boundary;
use crate::capi::error::Outcome;
use crate::capi::module_handle::write;
use crate::capi::walk::*;
use std::process::Command;

fn panicking_mutator(module: *mut fxir_module, error: *mut *mut fxir_error) -> fxir_status {
    // SAFETY: `error` may be written.
    unsafe {
        boundary::status(error, || {
            write(module, |tree, id| {
                tree.graph_mut(id)?.placeholder("half_done")?;
                panic!("a test says {}", "boo")
            })
        })
    }
}

#[test]
fn a_panic_becomes_a_status_and_the_module_refuses_further_use() {
    let (module, other) = (new_module(), new_module());
    placeholder(module, c"x");
    let (status, message) = fails(|error| panicking_mutator(module, error));
    assert_eq!(status, FXIR_PANIC);
    assert!(message.contains("a test says boo"), "{message}");

    assert_eq!(fxir_graph_first(module), 0);
    assert_eq!(fxir_graph_node_count(module), 0);
    // SAFETY: calls as C makes them.
    let again = fails(|error| unsafe { fxir_graph_placeholder(module, c"y".as_ptr(), null_mut(), error) });
    assert_eq!(again.0, FXIR_PANIC);
    placeholder(other, c"x");
    assert_eq!(fxir_graph_node_count(other), 1);
    fxir_module_free(module);
    fxir_module_free(other);
    assert!(!boundary::is_inside());
}

#[test]
fn a_panic_in_a_reader_leaves_the_module_usable() {
    let module = new_module();
    let value = boundary::value(7, || crate::capi::module_handle::read(module, |_, _| -> Outcome<i32> { panic!() }));
    assert_eq!(value, 7);
    placeholder(module, c"x");
    assert_eq!(fxir_graph_node_count(module), 1);
    fxir_module_free(module);
}

/// In a process of its own, since the hook is the process's and tests run side by side.
#[test]
fn a_panic_inside_prints_nothing_and_one_outside_prints_as_ever() {
    if std::env::var_os("FXIR_TEST_PANICS").is_some() {
        let module = new_module();
        fails(|error| panicking_mutator(module, error));
        let _ = std::panic::catch_unwind(|| panic!("outside the library"));
        boundary::value((), || {
            boundary::call_out(|| {
                let _ = std::panic::catch_unwind(|| panic!("in a callback"));
            });
            Ok(())
        });
        return;
    }
    let test = "capi::tests::boundary::a_panic_inside_prints_nothing_and_one_outside_prints_as_ever";
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env("FXIR_TEST_PANICS", "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(!stderr.contains("a test says"), "{stderr}");
    assert!(stderr.contains("outside the library") && stderr.contains("in a callback"), "{stderr}");
}

#[test]
fn null_is_refused_everywhere_it_matters() {
    let module = new_module();
    // SAFETY: calls as C makes them, wrong ones.
    unsafe {
        let status = |status| assert_eq!(status, FXIR_NULL_ARGUMENT);
        status(fxir_module_new(null(), null_mut(), null_mut()));
        status(fxir_module_clone(null(), null_mut(), null_mut(), null_mut()));
        status(fxir_graph_placeholder(null_mut(), c"x".as_ptr(), null_mut(), null_mut()));
        status(fxir_graph_placeholder(module, null(), null_mut(), null_mut()));
        status(fxir_graph_call_function(module, c"f".as_ptr(), null(), 1, null(), 0, null_mut(), null_mut()));
        status(fxir_graph_call_function(module, c"f".as_ptr(), null(), 0, null(), 1, null_mut(), null_mut()));
        status(fxir_graph_output(module, null(), null_mut(), null_mut()));
    }
    assert_eq!(fxir_graph_node_count(module), 0);
    assert_eq!(fxir_graph_node_count(null()), 0);
    assert!(fxir_node_name(null(), 1).is_null());
    fxir_module_free(null_mut());
    fxir_module_free(module);
    fxir_module_free(module);
}

#[test]
fn texts_must_be_utf8() {
    let module = new_module();
    let wrong = [0xffu8, 0];
    // SAFETY: calls as C makes them, wrong ones.
    unsafe {
        let status = |status| assert_eq!(status, FXIR_INVALID_UTF8);
        status(fxir_graph_placeholder(module, wrong.as_ptr().cast(), null_mut(), null_mut()));
        let args = [arg_text(FXIR_ARG_STR, &wrong[..1])];
        status(fxir_graph_call_function(module, c"f".as_ptr(), args.as_ptr(), 1, null(), 0, null_mut(), null_mut()));
    }
    assert_eq!(fxir_graph_node_count(module), 0);
    fxir_module_free(module);
}

#[test]
fn readers_run_side_by_side_with_a_writer_in_between() {
    let module = new_module();
    let x = placeholder(module, c"x");
    let address = module.addr();
    let handle = move || std::ptr::with_exposed_provenance_mut::<fxir_module>(address);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                for _ in 0..3_000 {
                    assert_eq!(text(fxir_node_name(handle(), x)), "x");
                    let mut at = fxir_graph_first(handle());
                    while at != 0 {
                        at = fxir_graph_next(handle(), at);
                    }
                }
            });
        }
        scope.spawn(move || {
            for _ in 0..300 {
                call(handle(), c"torch.relu", &[arg_node(x)]);
            }
        });
    });
    assert_eq!(fxir_graph_node_count(module), 301);
    fxir_module_free(module);
}
