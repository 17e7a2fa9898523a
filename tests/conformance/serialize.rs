//! `serialize/*/serialized.json` and `models/*/serialized.json`: what torch 1.12.1 wrote is read,
//! and written again equal, keys in the same order. `serialize_versions/NAME.VERSION.json`: the same
//! for the releases before, each in its own form.

use super::json::{assert_same, Json};
use super::{native, Report};
use fxir::formats::json::Schema;
use fxir::formats::{json, weights};
use std::path::{Path, PathBuf};

pub fn run(folder: &Path, report: &mut Report) {
    for (subfolder, suite) in [("serialize", "serialize"), ("models", "models/serialized")] {
        for case in folders_below(&folder.join(subfolder)) {
            let file = case.join("serialized.json");
            if file.is_file() {
                let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
                report.case(suite, &name, check(&file, &case.join("weights.safetensors")));
            }
        }
    }
    for file in files_below(&folder.join("serialize_versions")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".json") && !name.ends_with(".weights.json") {
            report.case("serialize_versions", name.trim_end_matches(".json"), check_version(&file, &name));
        }
    }
}

/// Files in a folder, sorted; none if it is not there.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The form of the release in `NAME.1.12.1.json`.
fn schema_of(name: &str) -> Result<Schema, String> {
    let numbers: Vec<&str> = name.trim_end_matches(".json").rsplitn(4, '.').collect();
    match numbers.get(1) {
        Some(&"8") => Ok(Schema::torch_1_8()),
        Some(&"9") => Ok(Schema::torch_1_9()),
        Some(&"10" | &"11") => Ok(Schema::torch_1_10()),
        Some(&"12") => Ok(Schema::torch_1_12()),
        _ => Err("its name tells no release that had the serializer".into()),
    }
}

fn check_version(file: &Path, name: &str) -> Result<(), String> {
    let schema = schema_of(name)?;
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let recorded = strict(&text)?;
    let tree = json::read(text.as_bytes(), None).map_err(|error| format!("reading: {error} at {:?}", error.place))?;
    fxir::ir::lint::lint_all(&tree, tree.root()).map_err(|error| format!("what was read: {error}"))?;
    let options = json::SerializeOptions { schema, ..Default::default() };
    let written = json::serialize(&tree, tree.root(), &options).map_err(|error| format!("writing: {error}"))?;
    assert_same(&recorded, &strict(&written.json)?, "")?;
    let again = json::read(written.json.as_bytes(), None).map_err(|error| format!("reading again: {error}"))?;
    let rewritten = json::serialize(&again, again.root(), &options).map_err(|error| format!("again: {error}"))?;
    if rewritten.json != written.json {
        return Err("what was written is read as something else".into());
    }

    let weights = file.with_extension("weights.json");
    if weights.is_file() {
        let text = std::fs::read_to_string(weights).map_err(|error| error.to_string())?;
        let Json::Object(recorded) = strict(&text)? else { return Err("its weights are no object".into()) };
        let names = |entries: &[(String, Json)]| entries.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let found: Vec<String> = written.weights.keys().cloned().collect();
        if names(&recorded) != found {
            return Err(format!("the weights are {found:?}, recorded are {:?}", names(&recorded)));
        }
        for (name, told) in &recorded {
            let Json::Object(told) = told else { continue };
            let meta = written.weights[name].meta();
            let dtype = Json::Text(meta.dtype.name().to_owned());
            let sizes = meta.shape.iter().map(|dim| Json::Int(dim.as_int().unwrap_or(-1).into())).collect();
            for (key, found) in [("dtype", dtype), ("shape", Json::List(sizes))] {
                let recorded = told.iter().find(|(known, _)| known == key).map(|(_, value)| value);
                assert_same(recorded.unwrap_or(&Json::Null), &found, &format!("weights.{name}.{key}"))?;
            }
        }
    }
    Ok(())
}

/// The JSON with the project's encoding of what JSON does not have, in the place of the marks of the
/// recording and of bare `Infinity`.
fn strict(text: &str) -> Result<Json, String> {
    let mut quoted = String::new();
    let mut in_string = false;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let token = ["-Infinity", "Infinity", "NaN"].into_iter().find(|token| !in_string && rest.starts_with(token));
        let taken = match (token, next) {
            (Some(token), _) => {
                let value = token.replace("Infinity", "inf").replace("NaN", "nan");
                quoted.push_str(&format!(r#"{{"__py__":"float","args":["{value}"]}}"#));
                token.len()
            }
            (None, '\\') if in_string => {
                let taken = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                quoted.push_str(&rest[..taken]);
                taken
            }
            _ => {
                in_string ^= next == '"';
                quoted.push(next);
                next.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    let json: Json = serde_json::from_str(&quoted).map_err(|error| error.to_string())?;
    Ok(encoded(json))
}

fn encoded(json: Json) -> Json {
    match json {
        Json::List(items) => Json::List(items.into_iter().map(encoded).collect()),
        Json::Object(entries) => match entries.as_slice() {
            [(py, Json::Text(name)), (str, Json::Text(text))] if py == "__py__" && str == "str" => {
                let part = |part: &str| match part.parse() {
                    Ok(value) => Json::Int(value),
                    Err(_) => Json::Null,
                };
                let args = match text.strip_prefix("slice(").and_then(|rest| rest.strip_suffix(')')) {
                    Some(parts) => parts.split(", ").map(part).collect(),
                    None => vec![Json::Text(text.clone())],
                };
                Json::Object(vec![("__py__".into(), Json::Text(name.clone())), ("args".into(), Json::List(args))])
            }
            _ => Json::Object(entries.into_iter().map(|(key, value)| (key, encoded(value))).collect()),
        },
        other => other,
    }
}

/// Folders in a folder, sorted; none if it is not there.
fn folders_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn check(file: &Path, weights_file: &Path) -> Result<(), String> {
    let text = std::fs::read(file).map_err(|error| error.to_string())?;
    round_trip(&text, None)?;
    if weights_file.is_file() {
        let weights = weights::open(weights_file).map_err(|error| error.to_string())?;
        round_trip(&text, Some(&weights))?;
    }
    Ok(())
}

fn round_trip(text: &[u8], weights: Option<&weights::Weights>) -> Result<(), String> {
    let tree = json::read(text, weights).map_err(|error| format!("reading: {error} at {:?}", error.place))?;
    native::round_trip(&tree)?;
    for indent in [None, Some(1)] {
        let options = json::SerializeOptions { indent, ..Default::default() };
        let written = json::serialize(&tree, tree.root(), &options).map_err(|error| format!("writing: {error}"))?;
        let recorded: Json = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let again: Json = serde_json::from_str(&written.json).map_err(|error| error.to_string())?;
        assert_same(&recorded, &again, "")?;
        if let Some(weights) = weights {
            same_bytes(weights, &written.weights)?;
        }
    }
    Ok(())
}

/// The buffers that come out are those of the file, in place.
fn same_bytes(file: &weights::Weights, written: &json::WeightMap) -> Result<(), String> {
    if file.len() != written.len() {
        return Err(format!("{} weights were read, {} written", file.len(), written.len()));
    }
    for (name, tensor) in written {
        let read = file.get(name).ok_or_else(|| format!("weight {name} is not in the file"))?;
        let place = |data: Option<&[u8]>| data.map(|data| (data.as_ptr(), data.len()));
        if place(read.data()) != place(tensor.data()) {
            return Err(format!("the bytes of weight {name} were moved"));
        }
    }
    Ok(())
}
