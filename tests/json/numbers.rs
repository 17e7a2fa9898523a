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
fn floats_that_are_no_numbers_are_read_bare_and_written_encoded() {
    for (text, written, value) in [
        ("NaN", r#"{"__py__":"float","args":["nan"]}"#, f64::NAN),
        ("Infinity", r#"{"__py__":"float","args":["inf"]}"#, f64::INFINITY),
        ("-Infinity", r#"{"__py__":"float","args":["-inf"]}"#, f64::NEG_INFINITY),
    ] {
        for spelled in [text, written] {
            let (argument, again) = through(spelled);
            assert!(matches!(argument, Argument::Float(found) if found.to_bits() == value.to_bits()), "{argument:?}");
            assert_eq!(again, written);
        }
    }
    // Among strings that look like them, and numbers whose text is looked for.
    let text = r#"["N","NaN"],NaN,"Infinity",123456789012345678901234567890,-Infinity,{"NaN":Infinity}"#;
    let (_, again) = through(text);
    let py = |value: &str| format!(r#"{{"__py__":"float","args":["{value}"]}}"#);
    let expected = text
        .replace("],NaN", &format!("],{}", py("nan")))
        .replace(",-Infinity", &format!(",{}", py("-inf")))
        .replace(":Infinity", &format!(":{}", py("inf")));
    assert_eq!(again, expected);
    // They are no names, and places in the text stay.
    let text = net(&call("f", "[NaN]"), "f").replace(r#""target":"torch.f""#, r#""target":NaN"#);
    let error = json::read(text.as_bytes(), None).unwrap_err();
    assert!(error.message.contains("`target`: NaN stands where a string should"), "{error}");
    assert_eq!(error.place.unwrap().column, text.find("NaN").unwrap() + 3);
    for key in ["NaN", "Infinity"] {
        assert_eq!(read_error(&net(&call("f", &format!("[{{{key}:NaN}}]")), "f")).0, ErrorKind::Parse);
    }
}

#[test]
fn what_is_no_json_and_not_python_s_either_is_refused() {
    for text in ["01", "+1", "1.", ".5", "0x10", "1e999", "'a'", "True", "None"] {
        let (kind, _) = read_error(&net(&call("f", &format!("[{text}]")), "f"));
        assert_eq!(kind, ErrorKind::Parse, "{text}");
    }
}
