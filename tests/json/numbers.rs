//! Numbers come back as they were.

use super::{call, net, read, read_error};
use fxir::formats::json;
use fxir::ir::{Argument, ErrorKind};

/// What the argument `text` is read as, and written as.
fn through(text: &str) -> (Argument, String) {
    let tree = read(&net(&call("f", &format!("[{text}]")), "f"));
    let graph = tree.graph(tree.root()).unwrap();
    let argument = graph[graph.find_node("f").unwrap()].args()[0].clone();
    let json = json::serialize(&tree, tree.root(), &Default::default()).unwrap().json;
    let start = json.find(r#""name":"f","args":["#).unwrap() + r#""name":"f","args":["#.len();
    let end = json[start..].find(r#"],"kwargs""#).unwrap();
    (argument, json[start..start + end].to_owned())
}

#[test]
fn ints_and_floats_stay_apart() {
    for text in ["0", "-1", "9223372036854775807", "-9223372036854775808"] {
        let (argument, again) = through(text);
        assert!(matches!(argument, Argument::Int(value) if value.to_string() == text), "{argument:?}");
        assert_eq!(again, text);
    }
    for (text, written) in [
        ("0.0", "0.0"),
        ("-0.0", "-0.0"),
        ("1.0", "1.0"),
        ("1e-5", "1e-05"),
        ("1e16", "1e+16"),
        ("1e300", "1e+300"),
        ("-3.4028234663852886e+38", "-3.4028234663852886e+38"),
        ("9.223372036854775808e18", "9.223372036854776e+18"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("0.1", "0.1"),
        ("2.2250738585072011e-308", "2.225073858507201e-308"),
    ] {
        let (argument, again) = through(text);
        let expected: f64 = text.parse().unwrap();
        assert!(matches!(argument, Argument::Float(value) if value.to_bits() == expected.to_bits()), "{argument:?}");
        assert_eq!(again, written);
    }
    // Python reads it as the int.
    assert!(matches!(through("-0").0, Argument::Int(0)));
}

#[test]
fn ints_beyond_64_bits_are_kept_as_text() {
    for text in [
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        &"7".repeat(300),
    ] {
        let (argument, again) = through(text);
        assert!(matches!(argument, Argument::BigInt(_)), "{argument:?}");
        assert_eq!(again, text);
    }
    // Among other numbers, and strings that hold numbers and quotes, each is found.
    let text = r#"1,"12\"3\\",[-5.5,{"4 5":1e30}],123456789012345678901234567890,0.5,[-0,987654321098765432109]"#;
    let (_, again) = through(text);
    assert_eq!(again, text.replace("1e30", "1e+30").replace("-0,", "0,"));
}

#[test]
fn what_python_writes_beyond_json_is_refused() {
    for text in ["NaN", "Infinity", "-Infinity", "01", "+1", "1.", ".5", "0x10", "1e999", "'a'", "True", "None"] {
        let (kind, _) = read_error(&net(&call("f", &format!("[{text}]")), "f"));
        assert_eq!(kind, ErrorKind::Parse, "{text}");
    }
}
