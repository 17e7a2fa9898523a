//! `serialize/*/serialized.json` and `models/*/serialized.json`: what torch 1.12.1 wrote is read,
//! and written again equal, keys in the same order.

use super::json::{assert_same, Json};
use super::{native, Report};
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
