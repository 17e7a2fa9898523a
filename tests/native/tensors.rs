//! Tensors: their bytes, memory they share, and what is known of them.

use super::{document_of, loaded};
use fxir::formats::{native, weights};
use fxir::ir::tensor::{Dim, Quantization, Storage};
use fxir::ir::{Attribute, Dtype, ErrorKind, ModuleTree, Tensor, TensorKind, TensorMeta, Value};
use std::sync::Arc;

const KINDS: [TensorKind; 3] = [TensorKind::Parameter, TensorKind::Buffer, TensorKind::Constant];

fn bytes(length: usize) -> Arc<Storage> {
    Arc::new((0..length).map(|n| (n * 7 + 1) as u8).collect::<Vec<u8>>())
}

fn strided(dtype: Dtype, storage: &Arc<Storage>, offset: usize, sizes: &[i64], strides: &[i64]) -> Arc<Tensor> {
    let meta = TensorMeta::new(dtype, sizes.iter().copied());
    Arc::new(Tensor::strided(meta, storage.clone(), offset, strides).unwrap())
}

fn tree_of(tensors: impl IntoIterator<Item = (&'static str, Arc<Tensor>)>) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    for (number, (path, tensor)) in tensors.into_iter().enumerate() {
        tree.set_attribute(root, path, Attribute::Tensor(KINDS[number % 3], tensor)).unwrap();
    }
    tree
}

fn tensor<'a>(tree: &'a ModuleTree, path: &str) -> &'a Arc<Tensor> {
    match tree.attribute(tree.root(), path) {
        Ok(Attribute::Tensor(_, tensor)) => tensor,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn every_dtype_of_many_shapes() {
    for dtype in Dtype::all() {
        let mut tree = ModuleTree::new("Net");
        let root = tree.root();
        for sizes in [&[][..], &[3], &[2, 3], &[0], &[2, 0, 5], &[1, 1, 1], &[2; 6], &[1; 70]] {
            let meta = TensorMeta::new(dtype, sizes.iter().copied());
            let length = meta.nbytes().unwrap().unwrap() as usize;
            let placed = Tensor::new(meta.clone(), bytes(length + 3), 3).unwrap();
            let path = format!("d{}.rank{}", sizes.iter().product::<i64>(), sizes.len());
            tree.set_attribute(root, &path, Attribute::Tensor(TensorKind::Buffer, Arc::new(placed))).unwrap();
            let nowhere = Arc::new(Tensor::without_bytes(meta).unwrap());
            tree.set_attribute(root, &format!("{path}x"), Attribute::Tensor(TensorKind::Constant, nowhere)).unwrap();
        }
        loaded(&tree);
    }
}

#[test]
fn tensors_lie_as_they_lay() {
    let storage = bytes(100);
    let tree = tree_of([
        ("transposed", strided(Dtype::Int16, &bytes(12), 0, &[3, 2], &[1, 3])),
        ("gaps", strided(Dtype::Float32, &bytes(60), 4, &[2, 3], &[8, 2])),
        ("expanded", strided(Dtype::Float64, &bytes(16), 8, &[5, 1], &[0, 1])),
        ("size one", strided(Dtype::Uint8, &bytes(4), 0, &[1, 4], &[i64::MAX, 1])),
        ("nothing", strided(Dtype::Uint8, &storage, 100, &[0, 4], &[7, 9])),
        ("huge", strided(Dtype::Uint8, &storage, 0, &[0, i64::MAX, 9], &[1, 2, 3])),
        ("odd", strided(Dtype::Int64, &storage, 3, &[2], &[1])),
    ]);
    let again = loaded(&tree);
    for (path, strides) in [("transposed", [1, 3]), ("gaps", [8, 2]), ("size one", [i64::MAX, 1]), ("nothing", [7, 9])]
    {
        assert_eq!(tensor(&again, path).strides(), Some(&strides[..]), "{path}");
    }
    assert_eq!(tensor(&again, "expanded").data().unwrap().len(), 8);
}

#[test]
fn shared_tensors_and_shared_memory_stay_shared() {
    let storage = bytes(64);
    let whole = strided(Dtype::Float32, &storage, 0, &[4, 4], &[4, 1]);
    let tree = tree_of([
        ("tied.weight", whole.clone()),
        ("decoder.weight", whole),
        ("twin", strided(Dtype::Float32, &storage, 0, &[4, 4], &[4, 1])),
        ("row", strided(Dtype::Float32, &storage, 16, &[4], &[1])),
        ("column", strided(Dtype::Float32, &storage, 4, &[4], &[4])),
        ("as_bytes", strided(Dtype::Uint8, &storage, 61, &[3], &[1])),
        ("alone", strided(Dtype::Float32, &bytes(64), 0, &[4, 4], &[4, 1])),
    ]);
    let file = native::to_bytes(&tree, tree.root()).unwrap();
    // 64 bytes each of two storages, once.
    let weights = weights::from_bytes(Arc::new(file)).unwrap();
    let entries: Vec<(&str, Vec<i64>)> = weights
        .iter()
        .filter(|(name, _)| &***name != "__fxir__")
        .map(|(name, tensor)| (&**name, tensor.sizes().unwrap().to_vec()))
        .collect();
    assert_eq!(entries, [("alone", vec![4, 4]), ("twin", vec![4, 4])]);

    let again = loaded(&tree);
    assert!(Arc::ptr_eq(tensor(&again, "tied.weight"), tensor(&again, "decoder.weight")));
    assert!(!Arc::ptr_eq(tensor(&again, "tied.weight"), tensor(&again, "twin")));
    let all = ["tied.weight", "decoder.weight", "twin", "row", "column", "as_bytes", "alone"];
    for one in all {
        for two in all {
            let shares = |tree| tensor(tree, one).shares_storage_with(tensor(tree, two));
            assert_eq!(shares(&again), shares(&tree), "{one} and {two}");
        }
    }
    // A tensor that lies behind another in the same storage shares nothing.
    let storage = bytes(8);
    let halves = ["a", "b"].into_iter().zip([0, 4]);
    let tree = tree_of(halves.map(|(path, at)| (path, strided(Dtype::Int32, &storage, at, &[1], &[1]))));
    let again = loaded(&tree);
    assert!(!tensor(&again, "a").shares_storage_with(tensor(&again, "b")));
}

/// Memory that the test lends twice, as C can.
struct Lent(&'static [u8]);

impl fxir::ir::tensor::StorageBytes for Lent {
    fn bytes(&self) -> &[u8] {
        self.0
    }
}

#[test]
fn storages_that_overlap_in_memory_are_one_entry() {
    let memory: &'static [u8] = Vec::leak((0..40).collect());
    let lent = |range: std::ops::Range<usize>| -> Arc<Storage> { Arc::new(Lent(&memory[range])) };
    let tree = tree_of([
        ("late", strided(Dtype::Int16, &lent(20..40), 2, &[9], &[1])),
        ("early", strided(Dtype::Uint8, &lent(0..24), 1, &[23], &[1])),
        ("inside", strided(Dtype::Uint8, &lent(4..8), 0, &[4], &[1])),
    ]);
    let again = loaded(&tree);
    assert!(document_of(&tree).contains(r#""buffer":"late","offset":21}"#), "{}", document_of(&tree));
    assert!(tensor(&again, "late").shares_storage_with(tensor(&again, "early")));
    assert_eq!(tensor(&again, "late").data(), Some(&memory[22..40]));
}

fn per_channel(scales: &Arc<Tensor>, zero_points: Option<&Arc<Tensor>>) -> TensorMeta {
    let quantization = Quantization::PerChannel {
        qscheme: "torch.per_channel_affine".into(),
        axis: Some(-1),
        scales: Some(scales.clone()),
        zero_points: zero_points.cloned(),
    };
    TensorMeta { quantization: Some(quantization), ..TensorMeta::new(Dtype::Qint8, [2i64, 3]) }
}

#[test]
fn quantized_tensors_keep_their_scales() {
    let scales = strided(Dtype::Float64, &bytes(24), 0, &[3], &[1]);
    let zeros = strided(Dtype::Int64, &bytes(24), 0, &[3], &[1]);
    let meta = per_channel(&scales, Some(&zeros));
    let mut tree = tree_of([
        ("conv.weight", Arc::new(Tensor::new(meta.clone(), bytes(6), 0).unwrap())),
        ("other", Arc::new(Tensor::new(per_channel(&scales, None), bytes(6), 0).unwrap())),
    ]);
    let root = tree.root();
    let bare = Quantization::PerChannel { qscheme: "q".into(), axis: None, scales: None, zero_points: None };
    let scale = f64::from_bits(0x7ff8_0000_0000_0003);
    let one = Quantization::PerTensor { qscheme: "torch.per_tensor_affine".into(), scale, zero_point: i64::MIN };
    let told =
        [per_channel(&scales, None), meta].map(Value::Tensor).into_iter().chain([bare, one].map(|quantization| {
            Value::Tensor(TensorMeta { quantization: Some(quantization), ..TensorMeta::new(Dtype::Quint8, [1i64]) })
        }));
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    graph.set_value(x, Some(Arc::new(Value::List(told.collect())))).unwrap();
    // Scales that no member holds.
    let y = graph.placeholder("y").unwrap();
    let own = strided(Dtype::Float32, &bytes(12), 0, &[3], &[1]);
    graph.set_value(y, Some(Arc::new(Value::Tensor(per_channel(&own, Some(&own)))))).unwrap();
    let again = loaded(&tree);
    let scales_of = |path: &str| match &tensor(&again, path).meta().quantization {
        Some(Quantization::PerChannel { scales: Some(scales), .. }) => scales.clone(),
        other => panic!("{other:?}"),
    };
    assert!(Arc::ptr_eq(&scales_of("conv.weight"), &scales_of("other")));
    assert_eq!(scales_of("other").data(), scales.data());
}

#[test]
fn scales_that_are_quantized_themselves_nest_four_deep() {
    let mut scales = strided(Dtype::Float64, &bytes(24), 0, &[3], &[1]);
    for level in 2..=6 {
        scales = Arc::new(Tensor::new(per_channel(&scales, Some(&scales)), bytes(6), 0).unwrap());
        let tree = tree_of([("w", scales.clone())]);
        if level <= 4 {
            loaded(&tree);
        } else {
            let error = native::to_bytes(&tree, tree.root()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Limit, "{error}");
        }
    }
}

#[test]
fn what_is_known_of_a_tensor_may_differ_from_how_it_lies() {
    let recorded = TensorMeta {
        stride: Some([Dim::Int(1), Dim::Sym("s1".into())].into_iter().collect()),
        requires_grad: Some(true),
        memory_format: Some("torch.preserve_format".into()),
        device: Some("cuda:0".into()),
        ..TensorMeta::new(Dtype::Float16, [2i64, 2])
    };
    let symbolic =
        TensorMeta { shape: [Dim::Sym("s0".into())].into_iter().collect(), stride: None, ..recorded.clone() };
    loaded(&tree_of([
        ("p", Arc::new(Tensor::new(recorded, bytes(8), 0).unwrap())),
        ("m", Arc::new(Tensor::without_bytes(symbolic).unwrap())),
    ]));
}

#[test]
fn members_with_the_names_of_the_file_itself() {
    let one = |n: usize| strided(Dtype::Uint8, &bytes(n), 0, &[n as i64], &[1]);
    let tree = tree_of([("__fxir__", one(1)), ("__metadata__", one(2)), ("a.b", one(3)), ("__fxir__#0", one(4))]);
    let again = loaded(&tree);
    assert_eq!(tensor(&again, "__fxir__").data().unwrap().len(), 1);
    // A member `b` of `a`, and scales of a parameter `a` that are called like it.
    let scales = one(3);
    let weight = Arc::new(Tensor::new(per_channel(&scales, None), bytes(6), 0).unwrap());
    loaded(&tree_of([("a", weight), ("b.q_per_channel_scales", one(5))]));
}

#[test]
fn files_are_mapped_and_written_back_to_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.fxir");
    let mut tree = tree_of([("w", strided(Dtype::Float32, &bytes(4096), 0, &[1024], &[1]))]);
    native::save(&path, &tree, tree.root()).unwrap();
    let mut written = Vec::new();
    native::write_to(&mut written, &tree, tree.root()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), written);
    assert_eq!(native::to_bytes(&tree, tree.root()).unwrap(), written);

    let mut again = native::open(&path).unwrap();
    assert!(again.is_same_as(again.root(), &tree, tree.root()));
    for tree in [&mut again, &mut tree] {
        let root = tree.root();
        tree.graph_mut(root).unwrap().placeholder("x").unwrap();
    }
    native::save(&path, &again, again.root()).unwrap();
    let third = native::open(&path).unwrap();
    assert!(third.is_same_as(third.root(), &tree, tree.root()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    let missing = native::open(folder.path().join("none.fxir")).unwrap_err();
    assert_eq!(missing.kind, ErrorKind::Io);
    assert!(missing.message.contains("none.fxir"), "{missing}");
    let nowhere = native::save(folder.path().join("no/where"), &tree, tree.root()).unwrap_err();
    assert_eq!(nowhere.kind, ErrorKind::Io);
}

/// Stops after so many bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("full"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_is_told_of() {
    let tree = tree_of([("w", strided(Dtype::Float32, &bytes(1 << 20), 0, &[1 << 18], &[1]))]);
    let error = native::write_to(&mut Full(1 << 19), &tree, tree.root()).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Io, "writing a module: full"));
}
