//! The order of nodes, apart from where they are stored: insert, move and erase are O(1).
//!
//! A doubly linked list with a label on each link; labels rise along the list, so that which of
//! two nodes comes first is one comparison. When there is no room between two labels the smallest
//! neighbourhood that is thin enough gets new ones (Bender et al., "Two simplified algorithms for
//! maintaining order in a list"), amortised O(log n) an insertion and O(1) an append.

/// The end of a chain, or a slot that is not in the order.
pub(crate) const NONE: u32 = u32::MAX;

/// Labels are below this.
const UNIVERSE: u64 = 1 << 62;

/// The room that appending leaves after the last label.
const APPEND_GAP: u64 = 1 << 36;

#[derive(Clone, Copy, Debug)]
struct Link {
    label: u64,
    prev: u32,
    next: u32,
}

/// A sequence of slots. The caller answers for a slot being in it, or not in it, where that matters.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    links: Vec<Link>,
    first: u32,
    last: u32,
    len: usize,
}

impl Order {
    pub(crate) fn new() -> Self {
        Order { links: Vec::new(), first: NONE, last: NONE, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    pub(crate) fn next(&self, slot: u32) -> u32 {
        self.links[slot as usize].next
    }

    pub(crate) fn prev(&self, slot: u32) -> u32 {
        self.links[slot as usize].prev
    }

    /// Rises along the order; means nothing else, and changes when nodes are inserted.
    pub(crate) fn label(&self, slot: u32) -> u64 {
        self.links[slot as usize].label
    }

    /// Whether `a` comes before `b`.
    pub(crate) fn is_before(&self, a: u32, b: u32) -> bool {
        self.label(a) < self.label(b)
    }

    /// Puts a slot that is in no order right before `next`, or last when `next` is [`NONE`].
    pub(crate) fn insert_before(&mut self, slot: u32, next: u32) {
        while self.links.len() <= slot as usize {
            self.links.push(Link { label: 0, prev: NONE, next: NONE });
        }
        let prev = if next == NONE { self.last } else { self.links[next as usize].prev };
        let label = self.label_between(prev, next);
        self.links[slot as usize] = Link { label, prev, next };
        match prev {
            NONE => self.first = slot,
            _ => self.links[prev as usize].next = slot,
        }
        match next {
            NONE => self.last = slot,
            _ => self.links[next as usize].prev = slot,
        }
        self.len += 1;
    }

    /// Takes a slot out.
    pub(crate) fn remove(&mut self, slot: u32) {
        let Link { prev, next, .. } = self.links[slot as usize];
        match prev {
            NONE => self.first = next,
            _ => self.links[prev as usize].next = next,
        }
        match next {
            NONE => self.last = prev,
            _ => self.links[next as usize].prev = prev,
        }
        self.links[slot as usize] = Link { label: 0, prev: NONE, next: NONE };
        self.len -= 1;
    }

    /// The whole order at once: `sequence` holds every slot that is in it, exactly once.
    pub(crate) fn set(&mut self, sequence: &[u32]) {
        let gap = self.even_gap(sequence.len());
        let mut prev = NONE;
        for (position, &slot) in sequence.iter().enumerate() {
            let next = sequence.get(position + 1).copied().unwrap_or(NONE);
            self.links[slot as usize] = Link { label: (position as u64 + 1) * gap, prev, next };
            prev = slot;
        }
        self.first = sequence.first().copied().unwrap_or(NONE);
        self.last = prev;
        self.len = sequence.len();
    }

    fn even_gap(&self, len: usize) -> u64 {
        (UNIVERSE / (len as u64 + 2)).min(APPEND_GAP)
    }

    fn label_between(&mut self, prev: u32, next: u32) -> u64 {
        loop {
            let low = if prev == NONE { 0 } else { self.label(prev) };
            if next == NONE {
                if low < UNIVERSE - APPEND_GAP {
                    return low + APPEND_GAP;
                }
            } else {
                let gap = self.label(next) - low;
                if gap > 1 {
                    return low + gap / 2;
                }
            }
            self.spread(if prev == NONE { next } else { prev });
        }
    }

    /// Makes room around `slot`: widens an aligned range of labels until it is thin, then spreads
    /// what lies in it evenly. The density allowed falls by a constant factor with every doubling.
    fn spread(&mut self, slot: u32) {
        let label = self.label(slot);
        let (mut first, mut last, mut count) = (slot, slot, 1u64);
        let mut allowed = 1.0f64;
        for bits in 1..=62u32 {
            allowed /= 1.3;
            let low = label & !((1u64 << bits) - 1);
            let high = low + ((1u64 << bits) - 1);
            while self.prev(first) != NONE && self.label(self.prev(first)) >= low {
                first = self.prev(first);
                count += 1;
            }
            while self.next(last) != NONE && self.label(self.next(last)) <= high {
                last = self.next(last);
                count += 1;
            }
            let size = 1u64 << bits;
            let step = size / (count + 1);
            if step >= 4 && (count as f64) / (size as f64) <= allowed {
                let mut at = first;
                for position in 1..=count {
                    self.links[at as usize].label = low + position * step;
                    at = self.next(at);
                }
                return;
            }
        }
        // The universe holds far more labels than there can be slots; evenly spread, all fit.
        let gap = self.even_gap(self.len);
        let (mut at, mut label) = (self.first, 0);
        while at != NONE {
            label += gap;
            self.links[at as usize].label = label;
            at = self.next(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listed(order: &Order) -> Vec<u32> {
        let mut all = Vec::new();
        let mut at = order.first();
        while at != NONE {
            all.push(at);
            at = order.next(at);
        }
        all
    }

    #[test]
    fn inserting_at_one_place_never_runs_out_of_labels() {
        for same_side in [true, false] {
            let mut order = Order::new();
            order.insert_before(0, NONE);
            order.insert_before(1, NONE);
            let mut anchor = 1;
            for slot in 2..200_000 {
                order.insert_before(slot, anchor);
                if !same_side {
                    anchor = slot;
                }
            }
            let all = listed(&order);
            assert_eq!(all.len(), 200_000);
            assert!(all.windows(2).all(|pair| order.is_before(pair[0], pair[1])));
        }
    }

    proptest! {
        #[test]
        fn order_is_that_of_a_plain_vector(steps in prop::collection::vec((0u8..3, any::<u16>(), any::<u16>()), 0..400)) {
            let mut order = Order::new();
            let mut model: Vec<u32> = Vec::new();
            let mut fresh = 0;
            for (step, a, b) in steps {
                if step < 2 || model.is_empty() {
                    let at = a as usize % (model.len() + 1);
                    order.insert_before(fresh, model.get(at).copied().unwrap_or(NONE));
                    model.insert(at, fresh);
                    fresh += 1;
                } else {
                    let slot = model.remove(a as usize % model.len());
                    order.remove(slot);
                    if b % 2 == 0 {
                        let at = b as usize % (model.len() + 1);
                        order.insert_before(slot, model.get(at).copied().unwrap_or(NONE));
                        model.insert(at, slot);
                    }
                }
                prop_assert_eq!(&listed(&order), &model);
                prop_assert_eq!(order.len(), model.len());
                prop_assert!(model.windows(2).all(|pair| order.is_before(pair[0], pair[1])));
            }
        }
    }
}
