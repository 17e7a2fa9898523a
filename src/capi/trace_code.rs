//! Tracing text: a plain Python function becomes a module.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::status::*;
use super::trace::{fxir_trace_rewrite, read_rewrites};
use crate::formats::python::trace::{trace_code, Autowrap, TraceOptions};
use std::ffi::c_char;

/// What of a text is traced, and how far down. Make one with `fxir_trace_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_trace_options {
    /// `sizeof(fxir_trace_options)`, set by `fxir_trace_options_init`.
    pub struct_size: usize,
    /// The function or class to trace; NULL for the last class that has a `forward`, else the last
    /// function.
    pub entry: *const c_char,
    /// Functions and classes of the text whose calls stay calls, by their names: they need not be
    /// `wrap`ped in the text. Their code is not looked into.
    pub autowrap_functions: *const *const c_char,
    /// How many they are.
    pub autowrap_functions_count: usize,
    /// 1: all functions and classes of the text but the one that is traced.
    pub autowrap_all: i32,
    /// 1: what `members` does not hold is taken for a leaf module of the type "torch.nn.Module" where it
    /// is called, and for the value None where it is read, as it is without `members`. 0: it is an error.
    pub more_members: i32,
    /// 1: a name that nothing in the text defines is a function, one of the backend's own for instance
    /// (`accel.fused(x)`), whose calls are recorded. 0: it is an error.
    pub more_functions: i32,
    /// Must be 0.
    pub reserved: i32,
}

/// Makes `*options` the defaults. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_trace_options_init(options: *mut fxir_trace_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_trace_options {
    fxir_trace_options {
        struct_size: size_of::<fxir_trace_options>(),
        entry: std::ptr::null(),
        autowrap_functions: std::ptr::null(),
        autowrap_functions_count: 0,
        autowrap_all: 0,
        more_members: 0,
        more_functions: 0,
        reserved: 0,
    }
}

/// Traces the text of a plain Python function, or of a module class, into a new module: `*module`,
/// freed by the caller. `text` is UTF-8 and has `length` bytes.
///
/// The function is run as `torch.fx.symbolic_trace` runs it. Functions, methods and module classes of
/// the text are inlined where they are called; loops and branches over constants happen while it runs;
/// each operation on a value becomes a node, named and with the arguments that torch.fx gives it
/// (`F.relu(x)` is `torch.nn.functional.relu(x, inplace = False)`). `assert c, "m"` becomes
/// `torch._assert(c, "m")`. Imports and aliases resolve. What would depend on a value, a branch for
/// one, is an error that names the expression.
///
/// `members`, which may be NULL, is the module that `self` is: constants of it decide branches, tensors
/// are read, modules are called, or looked into where their class is in the text; the new module gets
/// those that its graph names, with their tensors shared. `__init__` is not run. Without `members` the
/// text decides as for `fxir_module_read_code`. `options` may be NULL for the defaults. Each operation
/// passes through the `rewrites` in their order before it becomes a node; NULL and 0 for none.
///
/// Statuses: FXIR_PARSE (the text is no Python, or cannot be traced; `fxir_error_line` and `_column` say
/// where; the message shows the line with a caret), FXIR_LIMIT (it nests too deep or runs too long),
/// FXIR_CALLBACK (a rewrite stopped), FXIR_LINT, FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8,
/// FXIR_UNSUPPORTED (newer options). torch.fx: `symbolic_trace`, `Tracer.trace`, and `RewritingTracer`.
#[no_mangle]
pub unsafe extern "C" fn fxir_trace_code(
    text: *const c_char,
    length: usize,
    members: *const fxir_module,
    options: *const fxir_trace_options,
    rewrites: *const fxir_trace_rewrite,
    rewrites_count: usize,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(module, "module")?;
        let text = input::utf8(text, length, "text")?;
        let options = match options.is_null() {
            true => defaults(),
            false => input::options(options, "options")?,
        };
        if options.reserved != 0 {
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, "`options.reserved` is not 0"));
        }
        let names =
            input::slice(options.autowrap_functions, options.autowrap_functions_count, "options.autowrap_functions")?;
        let names = names.iter().map(|&name| input::text(name, "options.autowrap_functions[]"));
        let names = names.collect::<Outcome<Vec<&str>>>()?;
        let autowrap_functions = match input::flag(options.autowrap_all, "options.autowrap_all")? {
            true => Autowrap::All,
            false => Autowrap::Named(&names),
        };
        let rewrites = read_rewrites(rewrites, rewrites_count)?;
        let members = match members.is_null() {
            true => None,
            false => {
                let members = module_handle::module(members)?;
                Some((members.snapshot()?, members.id()))
            }
        };
        let options = TraceOptions {
            entry: input::optional_text(options.entry, "options.entry")?,
            members: members.as_ref().map(|(tree, id)| (&**tree, *id)),
            more_members: input::flag(options.more_members, "options.more_members")?,
            more_functions: input::flag(options.more_functions, "options.more_functions")?,
            autowrap_functions,
        };
        out.set_handle(ModuleHandle::root_of(trace_code(text, &options, rewrites)?))
    })
}
