//! Writing safetensors whose bytes come piece by piece, so that they are never in memory together.

use std::collections::{HashMap, HashSet};
use std::io::{BufWriter, Write};

use super::notes::Notes;
use super::write::{check_name, header, info};
use super::BUFFER;
use crate::ir::error::{counted, Error, ErrorKind, Result};
use crate::ir::Dtype;

/// A file of which the header is written, and whose bytes are to come.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: BufWriter<W>,
    /// Names, and where their bytes end.
    ends: Vec<(String, u64)>,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header. The tensors lie in the order given: where widths are mixed, the widest first
    /// keeps them aligned. Quantized kinds are stored as their integers.
    pub fn new<'a>(out: W, tensors: impl IntoIterator<Item = (&'a str, Dtype, &'a [i64])>) -> Result<Writer<W>> {
        let (mut notes, mut names, mut infos, mut ends) = (Notes::default(), HashSet::new(), Vec::new(), Vec::new());
        let mut end = 0u64;
        for (name, dtype, sizes) in tensors {
            check_name(name, &mut names)?;
            let info = info(name, dtype, sizes, &mut notes)?;
            // `header` refuses what overflows.
            end = end.saturating_add(info.data_offsets.1 as u64);
            ends.push((name.to_owned(), end));
            infos.push((name.to_owned(), info));
        }
        let header = header(HashMap::new(), &notes, infos.into_iter())?;
        let mut writer = Writer { out: BufWriter::with_capacity(BUFFER, out), ends, written: 0 };
        writer.out.write_all(&header).map_err(failed)?;
        Ok(writer)
    }

    /// The next bytes, row-major; where one tensor ends the next begins. More than were announced are
    /// InvalidArgument, and none of them is written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let left = self.total() - self.written;
        if bytes.len() as u64 > left {
            let message = format!("{} more than the tensors take", counted(bytes.len() - left as usize, "byte"));
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        self.out.write_all(bytes).map_err(failed)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// The end of the file: what is buffered goes out. InvalidArgument, naming the tensor, when bytes
    /// are missing; they may still come then.
    pub fn finish(&mut self) -> Result<()> {
        if self.written < self.total() {
            let unfinished = self.ends.partition_point(|(_, end)| *end <= self.written);
            let name = self.ends.get(unfinished).map_or("", |(name, _)| name);
            let missing = self.total() - self.written;
            let message = format!("bytes are missing from `{name}` on: {missing} of {}", self.total());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        self.out.flush().map_err(failed)
    }

    /// Gives the output back, as it is.
    pub fn into_inner(self) -> W {
        self.out.into_parts().0
    }

    fn total(&self) -> u64 {
        self.ends.last().map_or(0, |(_, end)| *end)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("writing weights: {error}"))
}
