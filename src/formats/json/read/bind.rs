//! Tensors for what `weights` tells, with the bytes of the weights file where there is one.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::context::{shown, Context};
use super::fields::Channel;
use super::module::ModuleReader;
use crate::formats::weights::Weights;
use crate::ir::tensor::Quantization;
use crate::ir::{Dtype, Error, Result, Tensor, TensorMeta};

/// The weights file, and what was taken from it.
pub(super) struct Binder<'r, 'a> {
    context: &'r Context<'a>,
    file: Option<&'r Weights>,
    used: FxHashSet<String>,
    /// The tensors of all modules' `weights` by name.
    tensors: FxHashMap<&'a str, Arc<Tensor>>,
}

impl<'r, 'a> Binder<'r, 'a> {
    pub(super) fn new(context: &'r Context<'a>, file: Option<&'r Weights>) -> Self {
        Binder { context, file, used: FxHashSet::default(), tensors: FxHashMap::default() }
    }

    /// Makes the tensors of a module and of those below it.
    pub(super) fn bind_all(&mut self, module: &mut ModuleReader<'a>) -> Result<()> {
        let names: Vec<&'a str> = module.weights.keys().copied().collect();
        // Scales and zero points are tensors themselves: first those that need none.
        for with_channels in [false, true] {
            for &name in &names {
                let Some(weight) = module.weights.get(name) else { continue };
                if weight.channels.is_some() != with_channels {
                    continue;
                }
                self.context.at_weight(name);
                let at = weight.at;
                let mut meta = weight.meta.clone();
                if let Some(channels) = &weight.channels {
                    self.link(module, &mut meta, [&channels.0, &channels.1], at)?;
                }
                let tensor = self.bind(name, meta, at)?;
                if let Some(weight) = module.weights.get_mut(name) {
                    weight.tensor = Some(tensor);
                }
            }
        }
        self.context.at_no_item();
        for (&name, submodule) in &mut module.modules {
            self.context.enter_module(name);
            self.bind_all(submodule)?;
            self.context.leave_module();
        }
        Ok(())
    }

    /// The tensor that some module's `weights` has under that name.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Tensor>> {
        self.tensors.get(name)
    }

    /// A tensor of which only a node tells: with the bytes of the first of these names that the
    /// weights file has.
    pub(super) fn bind_untold(
        &mut self,
        names: [&str; 2],
        meta: Option<TensorMeta>,
        at: Option<usize>,
    ) -> Result<Arc<Tensor>> {
        let found = self.file.and_then(|file| names.into_iter().find(|name| file.get(name).is_some()));
        match (found, meta) {
            (Some(name), Some(meta)) => self.bound(name, meta, at),
            (Some(name), None) => {
                self.used.insert(name.to_owned());
                let tensor = self.file.and_then(|file| file.get(name)).cloned();
                tensor.ok_or_else(|| self.context.error_at(at, "the weights file does not have it"))
            }
            (None, Some(meta)) => self.without_bytes(meta, at),
            (None, None) => {
                Err(self.context.error_at(at, "nothing is told of what it reads, neither in `weights` nor by the node"))
            }
        }
    }

    /// Refuses a weights file that has more than was asked for.
    pub(super) fn finish(&self) -> Result<()> {
        let extra = self.file.and_then(|file| file.iter().find(|(name, _)| !self.used.contains(&***name)));
        match extra {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!("the weights file has a tensor `{}` that the JSON does not know", shown(name));
                Err(self.context.error_at(None, message))
            }
        }
    }

    fn bind(&mut self, name: &'a str, meta: TensorMeta, at: Option<usize>) -> Result<Arc<Tensor>> {
        if let Some(known) = self.tensors.get(name) {
            if *known.meta() == meta {
                return Ok(known.clone());
            }
        }
        let tensor = match self.file {
            None => self.without_bytes(meta, at)?,
            Some(_) => self.bound(name, meta, at)?,
        };
        self.tensors.entry(name).or_insert_with(|| tensor.clone());
        Ok(tensor)
    }

    fn without_bytes(&self, meta: TensorMeta, at: Option<usize>) -> Result<Arc<Tensor>> {
        Tensor::without_bytes(meta).map(Arc::new).map_err(|error| self.context.located(error, at))
    }

    fn bound(&mut self, name: &str, meta: TensorMeta, at: Option<usize>) -> Result<Arc<Tensor>> {
        let Some(stored) = self.file.and_then(|file| file.get(name)) else {
            let message = format!("the weights file has no tensor `{}`", shown(name));
            return Err(self.context.error_at(at, message));
        };
        if !self.used.contains(name) {
            self.used.insert(name.to_owned());
        }
        // Tensors that are in memory may have their own dtype already.
        if stored.dtype() != meta.dtype && stored.dtype() != stored_as(meta.dtype) {
            let message = format!("it is {}, but the weights file has {}", meta.dtype, stored.dtype());
            return Err(self.context.error_at(at, message));
        }
        stored.with_meta(meta).map(Arc::new).map_err(|error| self.context.located(error, at))
    }

    /// Puts a weight's scales and zero points into its metadata.
    fn link(
        &self,
        module: &ModuleReader<'a>,
        meta: &mut TensorMeta,
        told: [&Channel<'_>; 2],
        at: Option<usize>,
    ) -> Result<()> {
        let Some(Quantization::PerChannel { axis, scales, zero_points, .. }) = &mut meta.quantization else {
            return Ok(());
        };
        let channels = axis.and_then(|axis| meta.shape.get(usize::try_from(axis).ok()?)).and_then(|dim| dim.as_int());
        let Some(channels) = channels else {
            return Err(self.context.error_at(at, "its `q_per_channel_axis` is no dimension that it has"));
        };
        for (slot, channel) in [scales, zero_points].into_iter().zip(told) {
            *slot = Some(match channel {
                Channel::Weight(name) => {
                    let found = module.weights.get(name).and_then(|weight| weight.tensor.clone());
                    let found = found.ok_or_else(|| {
                        self.wrong_link(name, "is no weight of this module that is not quantized itself", at)
                    })?;
                    if found.sizes() != Some(&[channels]) {
                        let what = format!("does not have {channels} elements, one a channel");
                        return Err(self.wrong_link(name, &what, at));
                    }
                    found
                }
                Channel::Ints(values) => {
                    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                    self.numbers(Dtype::Int64, values.len(), bytes, channels, at)?
                }
                Channel::Floats(values) => {
                    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                    self.numbers(Dtype::Float64, values.len(), bytes, channels, at)?
                }
            });
        }
        Ok(())
    }

    /// Scales or zero points that stand in the file as numbers.
    fn numbers(
        &self,
        dtype: Dtype,
        count: usize,
        bytes: Vec<u8>,
        channels: i64,
        at: Option<usize>,
    ) -> Result<Arc<Tensor>> {
        if i64::try_from(count) != Ok(channels) {
            let message = format!("{count} scales or zero points are told, and it has {channels} channels");
            return Err(self.context.error_at(at, message));
        }
        Tensor::from_bytes(TensorMeta::new(dtype, [channels]), bytes)
            .map(Arc::new)
            .map_err(|error| self.context.located(error, at))
    }

    fn wrong_link(&self, name: &str, what: &str, at: Option<usize>) -> Error {
        self.context.error_at(at, format!("`{}` {what}", shown(name)))
    }
}

/// What safetensors stores a dtype as.
fn stored_as(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Qint8 => Dtype::Int8,
        Dtype::Quint8 | Dtype::AccUint8Fused | Dtype::AccUint4Fused => Dtype::Uint8,
        Dtype::Qint32 => Dtype::Int32,
        plain => plain,
    }
}
