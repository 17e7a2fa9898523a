//! Calls in one form: by keyword or by position.

use super::args::{fxir_args, ArgsRecord};
use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{read, write};
use super::node::fxir_node;
use super::status::*;
use crate::passes::normalize_args::{
    normalize_args, normalized_arguments, Defaults, Form, NormalizeOptions, Normalized,
};

/// Arguments are passed by keyword. By position stays what has no keyword: what a method is called
/// on, `*args` and what comes before, a parameter called `from`.
pub const FXIR_FORM_KEYWORD: i32 = 0;
/// Arguments are passed by position, up to the first parameter that gets nothing; what comes behind it
/// by keyword.
pub const FXIR_FORM_POSITIONAL: i32 = 1;

/// Arguments that the parameter does not get by itself are added: all stand.
pub const FXIR_DEFAULTS_FILL_IN: i32 = 0;
/// Arguments that are what the parameter gets anyhow stay where they are.
pub const FXIR_DEFAULTS_KEEP: i32 = 1;
/// Arguments that are what the parameter gets anyhow are left out.
pub const FXIR_DEFAULTS_LEAVE_OUT: i32 = 2;

/// What calls become. Initialize it with `fxir_normalize_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_normalize_options {
    /// The size of this struct.
    pub struct_size: usize,
    /// How arguments are passed: FXIR_FORM_*. Default: by keyword.
    pub form: i32,
    /// What becomes of defaults: FXIR_DEFAULTS_*. Default: filled in.
    pub defaults: i32,
    /// 1: the keyword for the parameter `self` of a `torch.ops` operator is `input`, as torch.fx
    /// has it. Such calls can be read and normalized again; torch would not run them. Default: 0.
    pub input_for_self: i32,
    /// 1: a call of something that is not known, or that does not fit, is an error. Default: 0, it
    /// stays as it is.
    pub strict: i32,
}

/// How many calls of a graph there were.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_normalized {
    /// Brought into another form.
    pub changed: usize,
    /// Of that form before.
    pub kept: usize,
    /// Left alone: nothing is known of what they call.
    pub unknown: usize,
    /// Left alone: they do not fit what they call, or fit several overloads.
    pub misfits: usize,
}

/// Makes `*options` the defaults, which are those of torch.fx's `NormalizeArgs`. Does nothing when it
/// is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_normalize_options_init(options: *mut fxir_normalize_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_normalize_options {
    fxir_normalize_options {
        struct_size: size_of::<fxir_normalize_options>(),
        form: FXIR_FORM_KEYWORD,
        defaults: FXIR_DEFAULTS_FILL_IN,
        input_for_self: 0,
        strict: 0,
    }
}

unsafe fn options(options: *const fxir_normalize_options) -> Outcome<NormalizeOptions> {
    let options = match options.is_null() {
        true => defaults(),
        // SAFETY: not NULL, so by contract a struct of options.
        false => unsafe { input::options(options, "options")? },
    };
    let refuse = |what: &str, number: i32| {
        Err(Failure::new(FXIR_INVALID_ARGUMENT, format!("`options.{what}` is {number}, which is none")))
    };
    Ok(NormalizeOptions {
        form: match options.form {
            FXIR_FORM_KEYWORD => Form::Keyword,
            FXIR_FORM_POSITIONAL => Form::Positional,
            other => return refuse("form", other),
        },
        defaults: match options.defaults {
            FXIR_DEFAULTS_FILL_IN => Defaults::FillIn,
            FXIR_DEFAULTS_KEEP => Defaults::Keep,
            FXIR_DEFAULTS_LEAVE_OUT => Defaults::LeaveOut,
            other => return refuse("defaults", other),
        },
        input_for_self: input::flag(options.input_for_self, "options.input_for_self")?,
        strict: input::flag(options.strict, "options.strict")?,
    })
}

/// Brings every call of the module's graph into one form, by the signature of what is called:
/// overloads and operators of `torch.ops`, functions of torch and `operator`, methods of tensors,
/// modules of `torch.nn` by their type, and graph modules by their placeholders. Of several overloads
/// it is the one that the arguments fit. Nodes, their order, their users and what is known of them
/// stay; so do calls that are not known or do not fit. `options` may be NULL for the defaults;
/// `counts`, which may be NULL, gets how many calls there were.
///
/// Where torch.fx calls the parameter `self` of an operator `input`, this keeps `self` for
/// `torch.ops`, which takes no other name.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an option that is none; when strict, a call that does not fit:
/// the message names the parameter), FXIR_NOT_FOUND (when strict, a call of something that is not
/// known; `fxir_error_node` says which), FXIR_UNSUPPORTED (newer options). torch.fx: `NormalizeArgs`.
#[no_mangle]
pub unsafe extern "C" fn fxir_normalize_args(
    module: *mut fxir_module,
    options: *const fxir_normalize_options,
    counts: *mut fxir_normalized,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let counts = Out::optional(counts);
        let options = self::options(options)?;
        let Normalized { changed, kept, unknown, misfits } =
            write(module, |tree, id| Ok(normalize_args(tree, id, options)?))?;
        counts.set(fxir_normalized { changed, kept, unknown, misfits });
        Ok(())
    })
}

/// A snapshot of a node's arguments in the form that `fxir_normalize_args` would give them; the node
/// stays as it is. `*args` is NULL when nothing is known of what the node calls, its call does not fit,
/// or it is no call; when strict, that is an error. Free the snapshot with `fxir_args_free`.
///
/// Statuses: FXIR_STALE_NODE, and those of `fxir_normalize_args`. torch.fx:
/// `Node.normalized_arguments`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_normalized_arguments(
    module: *const fxir_module,
    node: fxir_node,
    options: *const fxir_normalize_options,
    args: *mut *mut fxir_args,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let args = Out::required(args, "args")?;
        let options = self::options(options)?;
        let id = input::node(node)?;
        let record = read(module, |tree, module| {
            let found = normalized_arguments(tree, module, id, options)?;
            Ok(found.map(|(args, kwargs)| ArgsRecord::new(tree.symbols(), &args, &kwargs)))
        })?;
        match record {
            Some(record) => args.set_handle(record),
            None => {
                args.set(std::ptr::null_mut());
                Ok(())
            }
        }
    })
}
