//! Who uses whom: for each node the nodes it takes as inputs, and the nodes that use it.
//!
//! One record an edge, whatever the number of times a node is named in its user's arguments. A
//! record is in its user's list of inputs (in order of first mention) and in a doubly linked list
//! of its producer's users (in the order in which the uses were made, as torch's dict keeps
//! them), so that adding and removing one costs O(1) whatever the number of users.

use super::order::NONE;
use smallvec::SmallVec;

#[derive(Clone, Copy, Debug)]
struct Use {
    user: u32,
    used: u32,
    prev: u32,
    next: u32,
}

#[derive(Clone, Debug)]
struct Ends {
    first: u32,
    last: u32,
    count: u32,
    /// The last visit that saw this node, so that naming it twice makes one record.
    seen: u32,
    inputs: SmallVec<[u32; 4]>,
}

/// The edges of one graph, by slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    uses: Vec<Use>,
    free: Vec<u32>,
    ends: Vec<Ends>,
    visit: u32,
}

impl Uses {
    /// Makes room for `slot`, which has no edges.
    pub(crate) fn add_slot(&mut self, slot: u32) {
        while self.ends.len() <= slot as usize {
            self.ends.push(Ends { first: NONE, last: NONE, count: 0, seen: 0, inputs: SmallVec::new() });
        }
    }

    /// How many nodes use `slot`.
    pub(crate) fn user_count(&self, slot: u32) -> usize {
        self.ends[slot as usize].count as usize
    }

    /// The nodes that use `slot`, oldest use first.
    pub(crate) fn users(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.ends[slot as usize].first;
        std::iter::from_fn(move || {
            let edge = self.uses.get(at as usize)?;
            at = edge.next;
            Some(edge.user)
        })
    }

    /// The nodes that `slot` uses, in order of first mention.
    pub(crate) fn inputs(&self, slot: u32) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + '_ {
        self.ends[slot as usize].inputs.iter().map(|&edge| self.uses[edge as usize].used)
    }

    /// Forgets what `user` uses.
    pub(crate) fn clear_inputs(&mut self, user: u32) {
        let inputs = std::mem::take(&mut self.ends[user as usize].inputs);
        for edge in inputs {
            let Use { used, prev, next, .. } = self.uses[edge as usize];
            match prev {
                NONE => self.ends[used as usize].first = next,
                _ => self.uses[prev as usize].next = next,
            }
            match next {
                NONE => self.ends[used as usize].last = prev,
                _ => self.uses[next as usize].prev = prev,
            }
            self.ends[used as usize].count -= 1;
            self.free.push(edge);
        }
    }

    /// Begins a list of inputs; [`Uses::add_input`] then takes each node once however often it comes.
    pub(crate) fn begin_inputs(&mut self) {
        self.visit = match self.visit.checked_add(1) {
            Some(visit) => visit,
            None => {
                self.ends.iter_mut().for_each(|ends| ends.seen = 0);
                1
            }
        };
    }

    /// `user` uses `used`, as the newest of its users, unless it was said since `begin_inputs`.
    pub(crate) fn add_input(&mut self, user: u32, used: u32) {
        let visit = self.visit;
        let ends = &mut self.ends[used as usize];
        if std::mem::replace(&mut ends.seen, visit) == visit {
            return;
        }
        let prev = ends.last;
        let record = Use { user, used, prev, next: NONE };
        let edge = match self.free.pop() {
            Some(edge) => {
                self.uses[edge as usize] = record;
                edge
            }
            None => {
                self.uses.push(record);
                (self.uses.len() - 1) as u32
            }
        };
        ends.last = edge;
        ends.count += 1;
        match prev {
            NONE => ends.first = edge,
            _ => self.uses[prev as usize].next = edge,
        }
        self.ends[user as usize].inputs.push(edge);
    }

    /// Puts the inputs of `user` into the order in which they are mentioned, often or once; false when
    /// they are not its inputs.
    pub(crate) fn reorder_inputs(&mut self, user: u32, mentioned: &[u32]) -> bool {
        self.begin_inputs();
        let visit = self.visit;
        let mut wanted: SmallVec<[u32; 8]> = SmallVec::new();
        for &used in mentioned {
            if std::mem::replace(&mut self.ends[used as usize].seen, visit) != visit {
                wanted.push(used);
            }
        }
        if self.inputs(user).eq(wanted.iter().copied()) {
            return true;
        }
        let mut known: SmallVec<[(u32, u32); 8]> =
            self.ends[user as usize].inputs.iter().map(|&edge| (self.uses[edge as usize].used, edge)).collect();
        known.sort_unstable();
        let edge_of = |used: &u32| known.binary_search_by_key(used, |&(used, _)| used).ok().map(|found| known[found].1);
        match wanted.iter().map(edge_of).collect::<Option<SmallVec<[u32; 4]>>>() {
            Some(edges) if edges.len() == known.len() => {
                self.ends[user as usize].inputs = edges;
                true
            }
            _ => false,
        }
    }

    /// Puts the users of `used` into the given order, which names each of them once.
    pub(crate) fn set_user_order(&mut self, used: u32, users: &[u32]) -> bool {
        if users.len() != self.user_count(used) {
            return false;
        }
        // Looked up among the users of this one node, so that all nodes together cost no more than
        // there are edges, however many inputs a user has.
        let mut known: Vec<(u32, u32)> = Vec::with_capacity(users.len());
        let mut at = self.ends[used as usize].first;
        while let Some(edge) = self.uses.get(at as usize) {
            known.push((edge.user, at));
            at = edge.next;
        }
        known.sort_unstable();
        let edge_of = |user: &u32| known.binary_search_by_key(user, |&(user, _)| user).ok().map(|found| known[found].1);
        let Some(edges) = users.iter().map(edge_of).collect::<Option<Vec<u32>>>() else { return false };
        // Every edge is the right one; as many as there are users, so distinct means all of them.
        let mut distinct = edges.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() != edges.len() {
            return false;
        }
        for (position, &edge) in edges.iter().enumerate() {
            let prev = position.checked_sub(1).map_or(NONE, |before| edges[before]);
            let next = edges.get(position + 1).copied().unwrap_or(NONE);
            self.uses[edge as usize].prev = prev;
            self.uses[edge as usize].next = next;
        }
        self.ends[used as usize].first = edges.first().copied().unwrap_or(NONE);
        self.ends[used as usize].last = edges.last().copied().unwrap_or(NONE);
        true
    }
}
