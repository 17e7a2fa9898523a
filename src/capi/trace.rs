//! Tracing: a function of the caller's records operations, which become nodes.

use super::args::ArgsRecord;
use super::argument::{fxir_arg, fxir_kwarg, Reader};
use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::graph::{op, op_number};
use super::handle::{self, Handle};
use super::input::{self, null, Out};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::node::fxir_node;
use super::status::*;
use crate::ir::{Argument, Error, ErrorKind, ModuleTree, NodeId, Op, Result};
use crate::trace::{Operation, Rewrite, Tracer};
use std::ffi::{c_char, c_void, CString};

/// Records operations as nodes of a module in the making. Made by `fxir_trace` for a function and
/// for each rewrite, and dead when that returns: it is never freed.
pub struct fxir_tracer;

/// One operation on its way to becoming a node. All of it lives until the rewrite that sees it
/// returns.
#[repr(C)]
pub struct fxir_operation {
    /// What it does: one of FXIR_OP_*.
    pub op: i32,
    /// 0.
    pub reserved: u32,
    /// What it calls or gets.
    pub target: *const c_char,
    /// Positional arguments, `args_count` of them.
    pub args: *const fxir_arg,
    /// How many positional arguments.
    pub args_count: usize,
    /// Keyword arguments, `kwargs_count` of them.
    pub kwargs: *const fxir_kwarg,
    /// How many keyword arguments.
    pub kwargs_count: usize,
}

/// The function that is traced. It gets one node an input, records what it computes through the
/// tracer, and says what it returns with `fxir_tracer_output`; without that it returns None. Returns
/// 0, or a code of its own that stops the call with `FXIR_CALLBACK`. Must not throw or longjmp.
pub type fxir_trace_function = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        tracer: *mut fxir_tracer,
        inputs: *const fxir_node,
        inputs_count: usize,
    ) -> i32,
>;

/// Sees an operation before it becomes a node. Stores into `*node` the node that stands for it: one
/// that was there before, or one that it records through `tracer`, whose operations pass through the
/// rewrites that follow this one. `*node` is 0 before the call, and left so the operation goes on to
/// the next rewrite, and in the end becomes a node. Returns 0, or a code of its own that stops the
/// call with `FXIR_CALLBACK`. Must not throw or longjmp.
pub type fxir_trace_rewrite_function = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        tracer: *mut fxir_tracer,
        operation: *const fxir_operation,
        node: *mut fxir_node,
    ) -> i32,
>;

/// A rewrite and what is passed to it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_trace_rewrite {
    /// Sees each operation.
    pub function: fxir_trace_rewrite_function,
    /// Passed to `function`.
    pub user_data: *mut c_void,
}

// SAFETY: the pointer is the caller's own and is only handed back to its function.
unsafe impl Send for fxir_trace_rewrite {}
// SAFETY: as above.
unsafe impl Sync for fxir_trace_rewrite {}

struct TracerRecord(Tracer);

impl Handle for TracerRecord {
    type C = fxir_tracer;
    const WHAT: &'static str = "tracer";
}

/// Runs `function`, which records operations as nodes of a new module: `*module`, freed by the
/// caller.
///
/// `inputs` are the names of the function's inputs, `inputs_count` of them. `root` gives the module
/// its members, copied with their tensors shared, so that the function may get and call them; NULL
/// for none. Each operation passes through the `rewrites` in their order before it becomes a node;
/// NULL and 0 for none. The module passes lint.
///
/// Statuses: FXIR_CALLBACK (the function or a rewrite stopped), FXIR_LINT (an operation names a member
/// that is not there), FXIR_INVALID_ARGUMENT (`root` is a leaf module), FXIR_INVALID_UTF8, FXIR_LIMIT.
/// torch.fx: `Tracer.trace`, and `symbolic_trace_with_rewrite` of those who trace for a backend.
#[no_mangle]
pub unsafe extern "C" fn fxir_trace(
    root: *const fxir_module,
    inputs: *const *const c_char,
    inputs_count: usize,
    function: fxir_trace_function,
    user_data: *mut c_void,
    rewrites: *const fxir_trace_rewrite,
    rewrites_count: usize,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let module = Out::required(module, "module")?;
        let function = function.ok_or_else(|| null("function"))?;
        let names = input::slice(inputs, inputs_count, "inputs")?;
        let rewrites = read_rewrites(rewrites, rewrites_count)?;
        let tree = match root.is_null() {
            true => ModuleTree::new("GraphModule"),
            false => {
                let root = module_handle::module(root)?;
                let tree = root.snapshot()?;
                tree.clone_subtree(root.id())?
            }
        };
        let top = tree.root();
        let tracer = Tracer::new(tree, top, rewrites)?;
        let mut nodes = Vec::with_capacity(names.len());
        for &name in names {
            nodes.push(tracer.placeholder(input::text(name, "inputs[]")?, None)?.to_bits());
        }
        let code = with_handle(&tracer, |handle| function(user_data, handle, nodes.as_ptr(), nodes.len()))?;
        if code != 0 {
            return Err(Failure::callback(code));
        }
        module.set_handle(ModuleHandle::root_of(tracer.finish()?))
    })
}

/// Records an operation of any op but placeholder and output. `*node` is what stands for it: a new
/// node, or what a rewrite made of it. `name` is what the node would like to be called; NULL makes a
/// name from the target. `node` may be NULL.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an unknown op or kind of argument, a keyword given twice),
/// FXIR_INVALID_UTF8, FXIR_STALE_NODE (an argument, or what a rewrite gave, is no node of this
/// trace), FXIR_INVALID_HANDLE (the trace is over), FXIR_CALLBACK, FXIR_LIMIT. torch.fx:
/// `Tracer.create_proxy`.
#[no_mangle]
pub unsafe extern "C" fn fxir_tracer_record(
    tracer: *mut fxir_tracer,
    op: i32,
    target: *const c_char,
    args: *const fxir_arg,
    args_count: usize,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    name: *const c_char,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let node = Out::optional(node);
        let op = self::op(op)?;
        if matches!(op, Op::Placeholder | Op::Output) {
            let message = "inputs are given to fxir_trace, and the output to fxir_tracer_output";
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
        }
        let target = input::text(target, "target")?.to_owned();
        let name = input::optional_text(name, "name")?.map(str::to_owned);
        let tracer = tracer_of(tracer)?;
        let mut reader = Reader::new(tracer.symbols());
        let args = reader.args(args, args_count)?;
        let kwargs = reader.kwargs(kwargs, kwargs_count)?;
        match tracer.record(Operation { op, target, args, kwargs, name })? {
            Argument::Node(made) => node.set(made.to_bits()),
            _ => return Err(Failure::new(FXIR_UNSUPPORTED, "a rewrite gave something that is no node")),
        }
        Ok(())
    })
}

/// Records a call of a function, by its qualified name: `fxir_tracer_record` with
/// FXIR_OP_CALL_FUNCTION and no name.
#[no_mangle]
pub unsafe extern "C" fn fxir_tracer_call_function(
    tracer: *mut fxir_tracer,
    target: *const c_char,
    args: *const fxir_arg,
    args_count: usize,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    let (op, name) = (op_number(Op::CallFunction), std::ptr::null());
    fxir_tracer_record(tracer, op, target, args, args_count, kwargs, kwargs_count, name, node, error)
}

/// Records a call of a method of the first argument: `fxir_tracer_record` with FXIR_OP_CALL_METHOD
/// and no name.
#[no_mangle]
pub unsafe extern "C" fn fxir_tracer_call_method(
    tracer: *mut fxir_tracer,
    target: *const c_char,
    args: *const fxir_arg,
    args_count: usize,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    let (op, name) = (op_number(Op::CallMethod), std::ptr::null());
    fxir_tracer_record(tracer, op, target, args, args_count, kwargs, kwargs_count, name, node, error)
}

/// Records a call of a submodule of `root`: `fxir_tracer_record` with FXIR_OP_CALL_MODULE and no
/// name.
#[no_mangle]
pub unsafe extern "C" fn fxir_tracer_call_module(
    tracer: *mut fxir_tracer,
    target: *const c_char,
    args: *const fxir_arg,
    args_count: usize,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    let (op, name) = (op_number(Op::CallModule), std::ptr::null());
    fxir_tracer_record(tracer, op, target, args, args_count, kwargs, kwargs_count, name, node, error)
}

/// Records the reading of a member of `root`: `fxir_tracer_record` with FXIR_OP_GET_ATTR and no
/// name.
#[no_mangle]
pub unsafe extern "C" fn fxir_tracer_get_attr(
    tracer: *mut fxir_tracer,
    target: *const c_char,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    let (op, none) = (op_number(Op::GetAttr), std::ptr::null::<c_void>());
    fxir_tracer_record(tracer, op, target, none.cast(), 0, none.cast(), 0, none.cast(), node, error)
}

/// Says what the traced function returns: a node, a literal, or a tuple, list or dict of them.
///
/// Statuses: FXIR_ALREADY_EXISTS (it was said before), and those of `fxir_tracer_record`.
#[no_mangle]
pub unsafe extern "C" fn fxir_tracer_output(
    tracer: *mut fxir_tracer,
    result: *const fxir_arg,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let tracer = tracer_of(tracer)?;
        let result = Reader::new(tracer.symbols()).one(result, "result")?;
        tracer.output(result)?;
        Ok(())
    })
}

/// The tracer apart from its handle, as recording calls back.
fn tracer_of(tracer: *mut fxir_tracer) -> Outcome<Tracer> {
    Ok(handle::get::<TracerRecord>(tracer)?.0.clone())
}

/// Calls out with a handle of a tracer, which dies when the call is over.
fn with_handle<T>(tracer: &Tracer, callback: impl FnOnce(*mut fxir_tracer) -> T) -> Outcome<T> {
    struct Free(*mut fxir_tracer);
    impl Drop for Free {
        fn drop(&mut self) {
            let _ = handle::free::<TracerRecord>(self.0);
        }
    }
    let handle = Free(handle::create(TracerRecord(tracer.clone()))?);
    Ok(boundary::call_out(|| callback(handle.0)))
}

/// The caller's rewrites as the tracer takes them.
pub(super) unsafe fn read_rewrites(rewrites: *const fxir_trace_rewrite, count: usize) -> Outcome<Vec<Box<Rewrite>>> {
    let rewrites = input::slice(rewrites, count, "rewrites")?;
    rewrites
        .iter()
        .map(|&rewrite| {
            rewrite.function.ok_or_else(|| null("rewrites[].function"))?;
            let run: Box<Rewrite> = Box::new(move |tracer, operation| run(&rewrite, tracer, operation));
            Ok(run)
        })
        .collect()
}

/// Shows one operation to a rewrite of the caller's.
fn run(rewrite: &fxir_trace_rewrite, tracer: &Tracer, operation: &Operation) -> Result<Option<Argument>> {
    let Some(function) = rewrite.function else { return Ok(None) };
    let target = CString::new(operation.target.as_str())
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, "a target holds a NUL"))?;
    let record = ArgsRecord::new(tracer.symbols(), &operation.args, &operation.kwargs);
    let shown = fxir_operation {
        op: op_number(operation.op),
        reserved: 0,
        target: target.as_ptr(),
        args: record.items().as_ptr(),
        args_count: record.items().len(),
        kwargs: record.kwargs().as_ptr(),
        kwargs_count: record.kwargs().len(),
    };
    let mut node = 0;
    // SAFETY: the caller's function, called as its type says.
    let code = with_handle(tracer, |handle| unsafe { function(rewrite.user_data, handle, &shown, &mut node) })
        .map_err(|_| Error::new(ErrorKind::Limit, "there are no more handles"))?;
    match code {
        0 => Ok(NodeId::from_bits(node).map(Argument::Node)),
        code => Err(Error::new(ErrorKind::Callback(code), format!("a rewrite stopped the trace with code {code}"))),
    }
}
