//! The stamps of node ids: a number for every node that this process ever makes.

use super::error::{Error, ErrorKind, Result};
use super::node::MAX_STAMP;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stamps are taken from the process's counter a block at a time.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    next: u64,
    end: u64,
}

/// A clone of a graph has the same nodes under the same ids, but never hands out the same new ones.
impl Clone for Stamps {
    fn clone(&self) -> Self {
        Stamps::default()
    }
}

static NEXT_STAMP: AtomicU64 = AtomicU64::new(1);
const STAMP_BLOCK: u64 = 256;

impl Stamps {
    /// Whether so many more can be taken.
    pub(super) fn check_room(count: usize) -> Result<()> {
        let stamps = NEXT_STAMP.load(Ordering::Relaxed).saturating_add(count as u64 + STAMP_BLOCK);
        if stamps > MAX_STAMP {
            Err(used_up())
        } else {
            Ok(())
        }
    }

    /// The next one, never given before.
    pub(super) fn take(&mut self) -> Result<NonZeroU64> {
        if self.next == self.end {
            let start = NEXT_STAMP.fetch_add(STAMP_BLOCK, Ordering::Relaxed);
            if start > MAX_STAMP - STAMP_BLOCK {
                NEXT_STAMP.fetch_sub(STAMP_BLOCK, Ordering::Relaxed);
                return Err(used_up());
            }
            (self.next, self.end) = (start, start + STAMP_BLOCK);
        }
        let stamp = NonZeroU64::new(self.next).ok_or_else(used_up)?;
        self.next += 1;
        Ok(stamp)
    }
}

fn used_up() -> Error {
    Error::new(ErrorKind::Limit, "this process has made 2^40 nodes, as many as ids tell apart")
}
