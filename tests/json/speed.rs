//! How fast it is, and that it stays linear. `cargo test --release --test json speed -- --ignored --nocapture`

use super::{read, recorded, INFO};
use fxir::formats::json::{self, SerializeOptions};
use std::time::{Duration, Instant};

/// A network of `count` calls like those of ResNet-20: each uses the one before and one further up.
fn long_net(count: usize, newline: &str) -> String {
    let reference = |name: &str| format!(r#"{{"is_node":true,"name":"{name}"}}"#);
    let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("add_{at}") };
    let mut nodes = Vec::with_capacity(count + 2);
    for at in 0..count {
        let last = at + 1 == count;
        let mut users = vec![if last { "output".to_owned() } else { name(at + 1) }];
        if at % 4 == 0 && at + 3 < count {
            users.push(name(at + 3));
        }
        let users: Vec<String> = users.iter().map(|user| reference(user)).collect();
        let mut args = Vec::new();
        if at > 0 {
            args.push(reference(&name(at - 1)));
        }
        if at > 2 && (at - 3) % 4 == 0 {
            args.push(reference(&name(at - 3)));
        }
        let (op, target) = if at == 0 { ("placeholder", "x") } else { ("call_function", "_operator.add") };
        nodes.push(format!(
            r#"{{{INFO}"target":"{target}","op_code":"{op}","name":"{}","args":[{}],"kwargs":{{}},"users":[{}]}}"#,
            name(at),
            args.join(","),
            users.join(",")
        ));
    }
    let returned = reference(&name(count - 1));
    nodes.push(format!(
        r#"{{"target":"output","op_code":"output","name":"output","args":[{returned}],"kwargs":{{}},"users":[]}}"#
    ));
    format!(r#"{{"modules":{{}},"weights":{{}},"nodes":[{}]}}"#, nodes.join(&format!(",{newline}")))
}

fn time<T>(what: &str, bytes: usize, run: impl Fn() -> T) -> (T, Duration) {
    let mut best: Option<(T, Duration)> = None;
    for _ in 0..3 {
        let start = Instant::now();
        let result = run();
        let taken = start.elapsed();
        if best.as_ref().is_none_or(|(_, known)| taken < *known) {
            best = Some((result, taken));
        }
    }
    let (result, taken) = best.expect("it ran");
    println!("{what}: {bytes} bytes, {taken:?}, {:.0} MB/s", bytes as f64 / 1e6 / taken.as_secs_f64());
    (result, taken)
}

#[test]
#[ignore = "measures"]
fn speed() {
    for count in [30_000, 300_000] {
        let text = long_net(count, "");
        let (tree, _) = time(&format!("reading {count} nodes"), text.len(), || read(&text));
        let (again, _) = time(&format!("writing {count} nodes"), text.len(), || {
            json::serialize(&tree, tree.root(), &SerializeOptions::default()).expect("it can be written").json
        });
        assert_eq!(again.len(), text.len() + INFO.len());
        let indented = super::write(&tree);
        time(&format!("reading {count} nodes, indented as torch's recordings"), indented.len(), || read(&indented));
    }
    let text = recorded("resnet20_cifar");
    time("reading resnet20_cifar", text.len(), || read(&text));
}

/// Twice as much must not take much more than twice as long, whatever the shape.
#[test]
fn every_shape_is_read_in_linear_time() {
    type Shape = fn(usize) -> String;
    let shapes: [(&str, Shape); 11] = [
        ("long", |count| long_net(count, "")),
        ("wide, users against the order", wide_net),
        ("one call with many arguments", |count| one_call(&format!("[{}]", vec!["1"; count * 20].join(",")))),
        ("weights in no order", |count| weights(count, |at| format!("m{}.a{}.w", at * 7919 % 1000, at))),
        ("weights of modules in modules", |count| weights(count, |at| format!("{}w{at}", "m.".repeat(at % 60)))),
        ("weights that go back and forth", |count| weights(count, |at| format!("m{}.w{at}", at % 2))),
        ("several tensors", |count| {
            one_call("1").replacen(INFO, &format!(r#""shape":[{}],"dtype":1,"#, vec!["\"\""; count].join(",")), 1)
        }),
        ("slices in slices", |count| {
            let open = r#"{"__py__":"slice","args":["#.repeat(60);
            one_call(&format!("{open}[{}]{}", vec!["1"; count * 20].join(","), ",1,1]}".repeat(60)))
        }),
        ("objects in objects", |count| {
            let open = r#"{"__py__":"dict","keys":[1],"values":["#.repeat(60);
            one_call(&format!("{open}[{}]{}", vec!["1"; count * 20].join(","), "]}".repeat(60)))
        }),
        ("bare numbers", |count| one_call(&format!("[{}]", vec!["NaN"; count * 20].join(",")))),
        ("large numbers", |count| one_call(&format!("[{}]", vec!["1e30"; count * 20].join(",")))),
    ];
    for (name, shape) in shapes {
        let (small, large) = (shape(2_000), shape(32_000));
        // Some are refused, at their end.
        let (_, one) = time(name, small.len(), || json::read(small.as_bytes(), None).is_ok());
        let (_, two) = time(name, large.len(), || json::read(large.as_bytes(), None).is_ok());
        // 16 times as much; quadratic time would be 256 times as long. Machines have other work.
        assert!(two < one * 16 * 6 + Duration::from_millis(500), "{name}: {one:?}, then {two:?}");
    }
}

/// As many weights, of the forms before 1.10.
fn weights(count: usize, name: impl Fn(usize) -> String) -> String {
    let told = r#"{"dtype":"torch.float32","is_quantized":false,"shape":"[1]"}"#;
    let weights: Vec<String> = (0..count).map(|at| format!(r#""{}":{told}"#, name(at))).collect();
    super::net_with("{}", &format!("{{{}}}", weights.join(",")), "", "x")
}

fn one_call(argument: &str) -> String {
    super::net(&super::call("f", &format!("[{argument}]")), "f")
}

/// Many placeholders, all used by two nodes, which are told in the order in which they do not come.
fn wide_net(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|at| format!("x{at}")).collect();
    let users = r#"[{"is_node":true,"name":"b"},{"is_node":true,"name":"a"}]"#;
    let mut nodes: Vec<String> = names
        .iter()
        .map(|name| {
            format!(r#"{{{INFO}"target":"{name}","op_code":"placeholder","name":"{name}","args":[],"kwargs":{{}},"users":{users}}}"#)
        })
        .collect();
    let references: Vec<String> = names.iter().map(|name| format!(r#"{{"is_node":true,"name":"{name}"}}"#)).collect();
    for name in ["a", "b"] {
        nodes.push(format!(
            r#"{{{INFO}"target":"torch.cat","op_code":"call_function","name":"{name}","args":[[{}]],"kwargs":{{}},"users":[]}}"#,
            references.join(",")
        ));
    }
    let output = r#"{"target":"output","op_code":"output","name":"output","args":[],"kwargs":{},"users":[]}"#;
    format!(r#"{{"modules":{{}},"weights":{{}},"nodes":[{},{output}]}}"#, nodes.join(","))
}
