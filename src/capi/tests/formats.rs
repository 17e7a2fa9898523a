use super::*;
use crate::capi::buffer::*;
use crate::capi::json::*;
use crate::capi::tensor::*;
use crate::capi::tensor_meta::*;
use crate::capi::value::*;
use crate::capi::weights::*;
use std::ffi::c_void;

fn with_meta(module: *mut fxir_module, node: fxir_node) {
    let (shape, stride) = ([2i64, 3], [3i64, 1]);
    // SAFETY: calls as C makes them.
    unsafe {
        let mut meta = std::mem::zeroed::<fxir_tensor_meta>();
        fxir_tensor_meta_init(&raw mut meta);
        meta.dtype = 7;
        meta.rank = 2;
        meta.shape = shape.as_ptr();
        meta.stride = stride.as_ptr();
        meta.requires_grad = 0;
        ok(|error| fxir_node_set_tensor_meta(module, node, &meta, error));
    }
}

fn net() -> *mut fxir_module {
    let module = new_module();
    let x = placeholder(module, c"x");
    let relu = call(module, c"torch.relu", &[arg_node(x)]);
    with_meta(module, x);
    with_meta(module, relu);
    // SAFETY: a call as C makes it.
    ok(|error| unsafe { fxir_graph_output(module, &arg_node(relu), null_mut(), error) });
    module
}

/// Keeps what it is given; stops at the piece that `stop_at` counts down to.
struct Sink {
    bytes: Vec<u8>,
    stop: bool,
}

unsafe extern "C" fn keep(data: *mut c_void, bytes: *const c_void, length: usize) -> i32 {
    // SAFETY: what the test passed, and what the header promises.
    let (sink, bytes) = unsafe { (&mut *data.cast::<Sink>(), std::slice::from_raw_parts(bytes.cast::<u8>(), length)) };
    sink.bytes.extend_from_slice(bytes);
    // The library can be used in here.
    fxir_module_free(new_module());
    i32::from(sink.stop) * 12
}

#[test]
fn json_to_a_buffer_to_a_callback_and_back() {
    let module = net();
    // SAFETY: calls as C makes them.
    unsafe {
        let (mut json, mut weights) = (null_mut(), null_mut());
        ok(|error| fxir_module_serialize(module, null(), &raw mut json, &raw mut weights, error));
        assert_eq!(fxir_weights_count(weights), 0);
        let bytes = text(fxir_buffer_data(json));
        assert_eq!(bytes.len(), fxir_buffer_size(json));

        let mut sink = Sink { bytes: Vec::new(), stop: false };
        let to = |sink: &mut Sink, error| {
            let data = (&raw mut *sink).cast();
            fxir_module_serialize_to(module, null(), Some(keep), data, null_mut(), error)
        };
        ok(|error| to(&mut sink, error));
        assert_eq!(sink.bytes, bytes.as_bytes());
        sink.stop = true;
        assert_eq!(fails(|error| to(&mut sink, error)).0, FXIR_CALLBACK);

        let mut again = null_mut();
        let read = |length, again, error| fxir_module_read_json(bytes.as_ptr().cast(), length, null(), again, error);
        ok(|error| read(bytes.len(), &raw mut again, error));
        assert_eq!(crate::capi::walk::fxir_graph_node_count(again), 3);
        fxir_module_free(again);
        for length in 0..bytes.len() {
            assert_eq!(fails(|error| read(length, &raw mut again, error)).0, FXIR_PARSE);
        }
        fxir_buffer_free(json);
        fxir_weights_free(weights);
    }
    fxir_module_free(module);
}

#[test]
fn weights_by_name_in_memory() {
    let values = [1.0f32, 2.0];
    // SAFETY: calls as C makes them.
    unsafe {
        let (mut weights, mut tensor) = (null_mut(), null_mut());
        ok(|error| fxir_weights_new(&raw mut weights, error));
        let data = values.as_ptr().cast();
        ok(|error| fxir_tensor_copy(7, [2i64].as_ptr(), 1, data, 8, &raw mut tensor, error));
        let wrong = fails(|error| fxir_tensor_copy(7, [2i64].as_ptr(), 1, data, 7, &raw mut tensor, error));
        assert_eq!(wrong.0, FXIR_INVALID_ARGUMENT);
        ok(|error| fxir_weights_set(weights, c"w".as_ptr(), tensor, error));
        ok(|error| fxir_weights_set(weights, c"w".as_ptr(), tensor, error));
        fxir_tensor_free(tensor);
        assert_eq!((fxir_weights_count(weights), text(fxir_weights_name(weights, 0))), (1, "w"));
        assert!(fxir_weights_name(weights, 1).is_null());
        let missing = fails(|error| fxir_weights_get(weights, c"v".as_ptr(), &raw mut tensor, error));
        assert_eq!(missing.0, FXIR_NOT_FOUND);
        assert_eq!(fails(|error| fxir_weights_tensor(weights, 1, &raw mut tensor, error)).0, FXIR_OUT_OF_RANGE);

        let mut sink = Sink { bytes: Vec::new(), stop: false };
        ok(|error| fxir_weights_write_to(weights, Some(keep), (&raw mut sink).cast(), error));
        fxir_weights_free(weights);
        let file = sink.bytes;
        let borrow = |length, weights, error| {
            fxir_weights_borrow(file.as_ptr().cast(), length, None, null_mut(), weights, error)
        };
        ok(|error| borrow(file.len(), &raw mut weights, error));
        ok(|error| fxir_weights_get(weights, c"w".as_ptr(), &raw mut tensor, error));
        assert!(file.as_ptr_range().contains(&fxir_tensor_data(tensor).cast()), "not a copy");
        assert_eq!(fxir_tensor_size(tensor), 8);
        fxir_tensor_free(tensor);
        fxir_weights_free(weights);
        for length in 0..file.len() {
            assert_eq!(fails(|error| borrow(length, &raw mut weights, error)).0, FXIR_PARSE);
        }
    }
}

#[test]
fn values_come_back_as_they_were_given() {
    let module = net();
    let x = crate::capi::walk::fxir_graph_first(module);
    // SAFETY: calls as C makes them.
    unsafe {
        let symbol = [c"s0".as_ptr(), null()];
        let mut meta = std::mem::zeroed::<fxir_tensor_meta>();
        fxir_tensor_meta_init(&raw mut meta);
        (meta.dtype, meta.rank) = (13, 2);
        meta.shape = [-1i64, 4].as_ptr();
        meta.symbolic_shape = symbol.as_ptr();
        meta.device = c"cpu".as_ptr();
        let quantization = fxir_quantization {
            qscheme: c"torch.per_tensor_affine".as_ptr(),
            is_per_channel: 0,
            has_axis: 0,
            scale: 0.5,
            zero_point: 3,
            axis: 0,
            scales: null(),
            zero_points: null(),
        };
        meta.quantization = &raw const quantization;
        let plain = |kind, content| fxir_value { kind, flags: 0, count: 0, key: null(), content };
        let tensor = plain(FXIR_VALUE_TENSOR, fxir_value_content { tensor: &raw const meta });
        let items = [
            fxir_value { key: c"t".as_ptr(), ..tensor },
            fxir_value {
                key: c"n".as_ptr(),
                ..plain(FXIR_VALUE_SYMBOLIC, fxir_value_content { text: c"s0".as_ptr() })
            },
        ];
        let value = fxir_value { count: 2, ..plain(FXIR_VALUE_DICT, fxir_value_content { items: items.as_ptr() }) };
        ok(|error| fxir_node_set_value(module, x, &value, error));
        let mut values = null_mut();
        ok(|error| fxir_node_value(module, x, &raw mut values, error));
        fxir_module_free(module);

        let root = &*fxir_values_root(values);
        assert_eq!((root.kind, root.count, fxir_values_tensor_count(values)), (FXIR_VALUE_DICT, 2, 1));
        let read = &*root.content.items;
        assert_eq!(text(read.key), "t");
        let read = &*read.content.tensor;
        assert_eq!(std::ptr::from_ref(read), fxir_values_tensor(values, 0));
        assert_eq!((read.dtype, read.rank, *read.shape, *read.shape.add(1)), (13, 2, -1, 4));
        assert_eq!((text(*read.symbolic_shape), text(read.device)), ("s0", "cpu"));
        assert!((*read.symbolic_shape.add(1)).is_null() && read.stride.is_null() && read.memory_format.is_null());
        assert_eq!(((*read.quantization).scale, (*read.quantization).zero_point), (0.5, 3));
        assert_eq!(text((*root.content.items.add(1)).content.text), "s0");
        fxir_values_free(values);
    }
}

#[test]
fn values_that_hold_themselves_end() {
    let module = net();
    let x = crate::capi::walk::fxir_graph_first(module);
    let none = fxir_value {
        kind: FXIR_VALUE_NONE,
        flags: 0,
        count: 0,
        key: null(),
        content: fxir_value_content { integer: 0 },
    };
    let mut circle = [none; 2];
    let content = fxir_value_content { items: (&raw const circle).cast() };
    circle[1] = fxir_value { kind: FXIR_VALUE_LIST, count: 2, content, ..none };
    // SAFETY: calls as C makes them.
    unsafe {
        assert_eq!(fails(|error| fxir_node_set_value(module, x, &circle[1], error)).0, FXIR_LIMIT);
        let unknown = fxir_value { kind: 99, ..none };
        assert_eq!(fails(|error| fxir_node_set_value(module, x, &unknown, error)).0, FXIR_INVALID_ARGUMENT);
    }
    assert_eq!(fxir_node_dtype(module, x), 7);
    fxir_module_free(module);
}
