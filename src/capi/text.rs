//! FX code as text: reading it, printing it, patterns as text.

use super::boundary;
use super::buffer::{fxir_buffer, Buffer};
use super::error::{fxir_error, Failure, Outcome};
use super::input::{self, Out};
use super::match_options::fxir_match_options;
use super::matches::fxir_matches;
use super::module::fxir_module;
use super::module_handle::{self, read, ModuleHandle};
use super::node::fxir_node;
use super::rewrite::replace;
use super::status::*;
use super::stream::{fxir_write, CallbackWriter};
use crate::formats::python::print::{code, graph_text, readable, verbose_code, ReadableOptions};
use crate::formats::python::read::{append_statement, read_code, read_into};
use crate::formats::python::trace::{trace_code, TraceOptions};
use crate::formats::tabular::print_tabular;
use crate::ir::{Error, ErrorKind, ModuleId, ModuleTree, Result};
use std::ffi::{c_char, c_void};
use std::io::Write;
use std::sync::Arc;

/// The code: torch.fx's `GraphModule.code`. Reads back.
pub const FXIR_TEXT_CODE: i32 = 0;
/// Classes with what is known of each node and where it comes from: `GraphModule.print_readable`.
/// Reads back.
pub const FXIR_TEXT_READABLE: i32 = 1;
/// As FXIR_TEXT_READABLE, the one function without classes: `Graph.python_code` when verbose. Reads
/// back.
pub const FXIR_TEXT_VERBOSE_CODE: i32 = 2;
/// One line a node, with users counted: `str(Graph)`.
pub const FXIR_TEXT_GRAPH: i32 = 3;
/// A table: `Graph.print_tabular`.
pub const FXIR_TEXT_TABULAR: i32 = 4;

/// What readable text tells besides dtype and sizes, where it is known.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_text_options {
    /// `sizeof(fxir_text_options)`, set by `fxir_text_options_init`.
    pub struct_size: usize,
    /// 1: strides, `"f32[2, 3][3, 1]"`.
    pub include_stride: i32,
    /// 1: devices, `"f32[2, 3]cpu"`.
    pub include_device: i32,
}

/// Makes `*options` the defaults: neither strides nor devices. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_text_options_init(options: *mut fxir_text_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_text_options {
    fxir_text_options { struct_size: size_of::<fxir_text_options>(), include_stride: 0, include_device: 0 }
}

unsafe fn read_options(options: *const fxir_text_options) -> Outcome<ReadableOptions> {
    let given = match options.is_null() {
        true => defaults(),
        // SAFETY: passed on.
        false => unsafe { input::options(options, "options") }?,
    };
    Ok(ReadableOptions {
        include_stride: input::flag(given.include_stride, "options.include_stride")?,
        include_device: input::flag(given.include_device, "options.include_device")?,
    })
}

/// The module as text of one of the forms FXIR_TEXT_*, in UTF-8. `options` may be NULL for the
/// defaults, and only readable and verbose text looks at them. The caller frees `*text`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an unknown form; the module has no graph), FXIR_UNSUPPORTED
/// (newer options). torch.fx: see the forms.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_print(
    module: *const fxir_module,
    form: i32,
    options: *const fxir_text_options,
    text: *mut *mut fxir_buffer,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(text, "text")?;
        let options = read_options(options)?;
        out.set_handle(Buffer::new(print(module, form, options)?))
    })
}

/// `fxir_module_print` to a callback, which gets the text in pieces, with no lock held.
///
/// Statuses: FXIR_CALLBACK, and those of `fxir_module_print`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_print_to(
    module: *const fxir_module,
    form: i32,
    options: *const fxir_text_options,
    write: fxir_write,
    user_data: *mut c_void,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let options = read_options(options)?;
        let mut writer = CallbackWriter::new(write, user_data)?;
        let text = print(module, form, options)?;
        let written = text.as_bytes().chunks(64 * 1024).try_for_each(|piece| writer.write_all(piece));
        let written = written.map_err(|error| Error::new(ErrorKind::Io, error.to_string()).into());
        writer.finish(written)
    })
}

fn print(module: *const fxir_module, form: i32, options: ReadableOptions) -> Outcome<String> {
    read(module, |tree, id| {
        Ok(match form {
            FXIR_TEXT_CODE => code(tree, id)?,
            FXIR_TEXT_READABLE => readable(tree, id, options)?,
            FXIR_TEXT_VERBOSE_CODE => verbose_code(tree, id, options)?,
            FXIR_TEXT_GRAPH => graph_text(tree.graph(id)?) + "\n",
            FXIR_TEXT_TABULAR => print_tabular(tree.graph(id)?) + "\n",
            _ => return Err(Failure::new(FXIR_INVALID_ARGUMENT, format!("{form} is no form of text (FXIR_TEXT_*)"))),
        })
    })
}

/// Reads FX code: a function, or a module class with those nested in it, as torch 1.13 to 2.15 prints
/// it (`code`, `print_readable`, TORCH_LOGS with prefixes and colours). Of text with several graphs it
/// is the first. `text` is UTF-8 and has `length` bytes. The caller frees `*module`.
///
/// Annotations become the metadata of nodes, `# File:` comments their `stack_trace`. Expressions in
/// arguments become nodes of their own, named as torch.fx would name them: `relu(x + y)` is a text
/// too. Names of torch's symbolic sizes (`s17`, `u0`) that nothing binds are symbolic ints.
///
/// `members`, which may be NULL, is a module whose members the new one gets, copied with their
/// tensors shared. What the text names beyond them becomes a leaf module of the type
/// "torch.nn.Module" where it is called, else a tensor without bytes if an annotation tells its
/// metadata, else the value None.
///
/// Statuses: FXIR_PARSE (`fxir_error_line` and `_column` say where; the message shows the line with a
/// caret), FXIR_LIMIT (brackets or operators nest too deep), FXIR_INVALID_UTF8. torch.fx: none.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_read_code(
    text: *const c_char,
    length: usize,
    members: *const fxir_module,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(module, "module")?;
        let text = input::utf8(text, length, "text")?;
        out.set_handle(ModuleHandle::root_of(parse(text, members)?))
    })
}

/// `fxir_module_read_code` of a file.
///
/// Statuses: FXIR_IO, and those of `fxir_module_read_code`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_load_code(
    path: *const c_char,
    members: *const fxir_module,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(module, "module")?;
        let path = input::text(path, "path")?;
        let io = |error: std::io::Error| Error::new(ErrorKind::Io, format!("{path}: {error}"));
        let bytes = std::fs::read(path).map_err(io)?;
        let text = String::from_utf8(bytes).map_err(|_| input::not_utf8(path))?;
        out.set_handle(ModuleHandle::root_of(parse(&text, members)?))
    })
}

fn parse(text: &str, members: *const fxir_module) -> Outcome<ModuleTree> {
    if members.is_null() {
        return Ok(read_code(text)?);
    }
    let members = module_handle::module(members)?;
    let mut tree = members.snapshot()?.clone_subtree(members.id())?;
    let root = tree.root();
    read_into(&mut tree, root, text)?;
    Ok(tree)
}

/// Appends one statement of FX code to the graph, before its output: "y = torch.relu(x + 1)". Names in
/// it are those of the graph's nodes. `node`, which may be NULL, gets the node that was made last.
///
/// Statuses: FXIR_PARSE (as `fxir_module_read_code`; a name that no node has is one, but for symbolic sizes),
/// FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx: none.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_append_code(
    module: *mut fxir_module,
    statement: *const c_char,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let node = Out::optional(node);
        let statement = input::text(statement, "statement")?;
        let module = module_handle::module(module)?;
        let mut tree = module.lock_write()?;
        let made = append_statement(&mut tree, module.id(), statement)?;
        node.set(made.to_bits());
        Ok(())
    })
}

/// `fxir_replace_pattern` with pattern and replacement as text of Python functions, which are traced
/// as `fxir_trace_code` does it: two lines such as "def pattern(x, y):" and "    return torch.relu(x + y)".
/// Where they name members (`self.act(x)`), those of `module` are meant; one that it does not have is a
/// leaf module of the type "torch.nn.Module", or the value None where it is read. A name that nothing
/// defines is a function of that name: `accel.fused(x)`.
///
/// What tracing writes otherwise, `x += y` as an operator that works in place for one, is matched with
/// `fxir_module_read_code`, which takes FX code as it stands, and `fxir_replace_pattern`.
///
/// Statuses: FXIR_PARSE (the message begins with "pattern: " or "replacement: "), FXIR_INVALID_UTF8,
/// and those of `fxir_replace_pattern`. torch.fx: `replace_pattern_with_filters`, which traces its
/// functions.
#[no_mangle]
pub unsafe extern "C" fn fxir_replace_pattern_text(
    module: *mut fxir_module,
    pattern: *const c_char,
    replacement: *const c_char,
    options: *const fxir_match_options,
    matches: *mut *mut fxir_matches,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let pattern = input::text(pattern, "pattern")?;
        let replacement = input::text(replacement, "replacement")?;
        let module = module_handle::module(module)?;
        let (pattern, replacement) = {
            let tree = module.snapshot()?;
            let read = |what, text| read_side(what, text, &tree, module.id());
            (read("pattern", pattern)?, read("replacement", replacement)?)
        };
        let whole = |tree: ModuleTree| {
            let root = tree.root();
            (Arc::new(tree), root)
        };
        replace(module, whole(pattern), whole(replacement), options, matches)
    })
}

fn read_side(what: &str, text: &str, tree: &ModuleTree, module: ModuleId) -> Result<ModuleTree> {
    let members = Some((tree, module));
    let options = TraceOptions { members, more_members: true, more_functions: true, ..TraceOptions::default() };
    trace_code(text, &options, Vec::new()).map_err(|mut error| {
        error.message = format!("{what}: {}", error.message);
        error
    })
}
