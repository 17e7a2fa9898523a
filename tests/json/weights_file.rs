//! JSON and weights file together: every tensor is bound in place, or refused by name.

use super::{case, recorded};
use fxir::formats::json;
use fxir::formats::weights::{self, Weights};
use fxir::ir::tensor::Quantization;
use fxir::ir::{Attribute, Dtype, Error, ErrorKind, Tensor, TensorKind, TensorMeta};
use std::sync::Arc;

fn recorded_weights(name: &str) -> Weights {
    weights::open(case(&format!("serialize/{name}/weights.safetensors"))).unwrap()
}

/// A weights file with these instead of those of the recording.
fn changed(name: &str, change: impl FnOnce(&mut Vec<(String, Arc<Tensor>)>)) -> Weights {
    let mut tensors: Vec<(String, Arc<Tensor>)> =
        recorded_weights(name).iter().map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
    change(&mut tensors);
    let mut bytes = Vec::new();
    weights::write_to(&mut bytes, tensors.iter().map(|(name, tensor)| (name.as_str(), &**tensor))).unwrap();
    weights::from_bytes(Arc::new(bytes)).unwrap()
}

fn refused(name: &str, weights: &Weights) -> Error {
    json::read(recorded(name).as_bytes(), Some(weights)).expect_err("it must be refused")
}

fn ints(count: i64) -> Arc<Tensor> {
    let bytes = (0..count).flat_map(|value| value.to_le_bytes()).collect();
    Arc::new(Tensor::from_bytes(TensorMeta::new(Dtype::Int64, [count]), bytes).unwrap())
}

#[test]
fn tensors_are_those_of_the_file_with_the_metadata_of_the_json() {
    let weights = recorded_weights("quantized_tensors");
    let tree = json::read(recorded("quantized_tensors").as_bytes(), Some(&weights)).unwrap();
    let Ok(Attribute::Tensor(TensorKind::Buffer, qc)) = tree.attribute(tree.root(), "qc") else { panic!("no buffer") };
    assert_eq!(qc.dtype(), Dtype::Qint8);
    assert_eq!(qc.data().map(<[u8]>::as_ptr), weights.get("qc").unwrap().data().map(<[u8]>::as_ptr));
    let Some(Quantization::PerChannel { axis: Some(0), scales: Some(scales), zero_points: Some(zero_points), .. }) =
        &qc.meta().quantization
    else {
        panic!("no scales: {:?}", qc.meta())
    };
    assert_eq!(scales.data(), weights.get("qc_per_channel_scales").unwrap().data());
    assert_eq!(zero_points.dtype(), Dtype::Int32);
    // Scales and zero points belong to their tensor and are no members themselves.
    let root = tree.get(tree.root()).unwrap();
    let names: Vec<&str> = root.attributes().keys().map(|&name| tree.symbols().text(name)).collect();
    assert_eq!(names, ["qt", "qc"]);

    let written = json::serialize(&tree, tree.root(), &Default::default()).unwrap();
    let names: Vec<&str> = written.weights.keys().map(String::as_str).collect();
    // The order in which torch's dictionary of weights gets them.
    assert_eq!(names, ["qt", "qc_per_channel_scales", "qc_per_channel_zero_points", "qc"]);
}

#[test]
fn what_was_written_can_be_read_without_a_file_between() {
    for name in ["quantized_tensors", "embedding_bag_byte_rowwise_offsets", "linear_attr_multi_output"] {
        let tree = json::read(recorded(name).as_bytes(), Some(&recorded_weights(name))).unwrap();
        let written = json::serialize(&tree, tree.root(), &Default::default()).unwrap();
        let weights: Weights =
            written.weights.iter().map(|(name, tensor)| (name.as_str().into(), tensor.clone())).collect();
        let again = json::read(written.json.as_bytes(), Some(&weights)).unwrap();
        let rewritten = json::serialize(&again, again.root(), &Default::default()).unwrap();
        assert_eq!(rewritten.json, written.json);
        assert_eq!(rewritten.weights, written.weights);
    }
}

#[test]
fn fused_embeddings_and_constants_of_the_module_above() {
    let weights = recorded_weights("embedding_bag_byte_rowwise_offsets");
    let tree = json::read(recorded("embedding_bag_byte_rowwise_offsets").as_bytes(), Some(&weights)).unwrap();
    let Ok(Attribute::Tensor(_, table)) = tree.attribute(tree.root(), "table") else { panic!("no table") };
    assert_eq!(table.dtype(), Dtype::AccUint8Fused);

    let weights = recorded_weights("parent_constant");
    let tree = json::read(recorded("parent_constant").as_bytes(), Some(&weights)).unwrap();
    let Ok(Attribute::Tensor(TensorKind::Constant, shared)) = tree.attribute(tree.root(), "parent.shared") else {
        panic!("no constant")
    };
    assert_eq!(shared.data().map(<[u8]>::as_ptr), weights.get("shared").unwrap().data().map(<[u8]>::as_ptr));
    let written = json::serialize(&tree, tree.root(), &Default::default()).unwrap();
    assert_eq!(written.weights.keys().collect::<Vec<_>>(), ["shared"]);
    assert!(written.json.contains(r#""weights":{}"#));
    // The constant may live elsewhere.
    let empty = changed("parent_constant", |tensors| tensors.clear());
    let tree = json::read(recorded("parent_constant").as_bytes(), Some(&empty)).unwrap();
    let written = json::serialize(&tree, tree.root(), &Default::default()).unwrap();
    assert!(written.weights.is_empty());
}

#[test]
fn a_weights_file_that_does_not_fit_is_refused_by_name() {
    let name = "linear_attr_multi_output";
    for (change, message) in [
        (
            &(|t: &mut Vec<_>| t.retain(|(name, _)| name != "linear.bias")) as &dyn Fn(&mut Vec<(String, Arc<Tensor>)>),
            "weight `linear.bias`: the weights file has no tensor `linear.bias`",
        ),
        (&|t| t.push(("more".into(), ints(2))), "the weights file has a tensor `more` that the JSON does not know"),
        (
            &|t| {
                t.iter_mut().for_each(|(name, tensor)| {
                    if name == "e" {
                        *tensor = ints(4)
                    }
                })
            },
            "weight `e`: it is torch.float32, but the weights file has torch.int64",
        ),
        (
            &|t| {
                t.iter_mut().for_each(|(name, tensor)| {
                    if name == "buf" {
                        *tensor = ints(5)
                    }
                })
            },
            "weight `buf`: shape [4] is not the tensor's, [5]",
        ),
    ] {
        let error = refused(name, &changed(name, change));
        assert_eq!(error.kind, ErrorKind::Parse);
        assert_eq!(error.message, message);
        assert_eq!(error.place.is_none(), message.contains("more"), "{error}");
    }
    let error = refused("parent_constant", &changed("parent_constant", |t| t[0].1 = ints(3)));
    assert!(
        error.message.contains("nodes[1] `shared`: it is torch.float32, but the weights file has torch.int64"),
        "{error}"
    );
}

#[test]
fn scales_that_do_not_fit_are_refused() {
    for (part, replacement, message) in [
        (r#""q_per_channel_axis": 0"#, r#""q_per_channel_axis": 2"#, "`q_per_channel_axis` is no dimension"),
        (r#""q_per_channel_axis": 0"#, r#""q_per_channel_axis": -1"#, "`q_per_channel_axis` is no dimension"),
        (",\n   \"q_per_channel_axis\": 0", "", "are not all there"),
        (
            r#""q_per_channel_scales": "qc_per_channel_scales""#,
            r#""q_per_channel_scales": "none""#,
            "`none` is no weight of this module",
        ),
        (
            r#""q_per_channel_scales": "qc_per_channel_scales""#,
            r#""q_per_channel_scales": "qc""#,
            "`qc` is no weight of this module",
        ),
        (
            r#""q_per_channel_scales": "qc_per_channel_scales""#,
            r#""q_per_channel_scales": "qt""#,
            "`qt` does not have 4 elements",
        ),
        (
            r#""qscheme": "torch.per_channel_affine""#,
            r#""qscheme": "torch.per_tensor_affine""#,
            "it has scales per channel, but",
        ),
        (
            r#""qscheme": "torch.per_channel_affine""#,
            r#""qscheme": "torch.affine""#,
            "`qscheme` is none that torch has",
        ),
        (r#""q_scale": 0.05,"#, "", "the key `q_scale` is missing"),
        (r#""q_zero_point": 3"#, r#""q_zero_point": 3.5"#, "`q_zero_point`: it is not an int"),
    ] {
        let text = recorded("quantized_tensors");
        assert!(text.contains(part), "{part}");
        let error = json::read(text.replacen(part, replacement, 1).as_bytes(), None).expect_err(replacement);
        assert_eq!(error.kind, ErrorKind::Parse);
        assert!(error.message.contains(message), "{message:?} is not in {:?}", error.message);
        assert!(error.message.starts_with("weight `q"), "{error}");
        assert!(error.place.is_some());
    }
}
