//! Every module that another suite reads is saved in the native form and loaded again, the same.

use fxir::formats::native;
use fxir::ir::ModuleTree;
use std::sync::Arc;

/// Says how a module changes by being saved and loaded, if it does.
pub fn round_trip(tree: &ModuleTree) -> Result<(), String> {
    let bytes = native::to_bytes(tree, tree.root()).map_err(|error| format!("saving: {error}"))?;
    let again = native::from_bytes(Arc::new(bytes.clone())).map_err(|error| format!("loading: {error}"))?;
    if !again.is_same_as(again.root(), tree, tree.root()) {
        return Err("saved and loaded, it is another module".into());
    }
    match native::to_bytes(&again, again.root()) {
        Ok(rewritten) if rewritten == bytes => Ok(()),
        Ok(_) => Err("saved, loaded and saved again, the file is another".into()),
        Err(error) => Err(format!("saving again: {error}")),
    }
}
