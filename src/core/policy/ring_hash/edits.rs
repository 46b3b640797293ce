//! Where the entries of a ring are after some were added and removed.

/// How many entries share a place of the index of edits. Of few edits, most such blocks have none.
const BLOCK: usize = 64;

/// One point that is added or removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit {
    /// The entry that is removed, or before which the point is added.
    pub(super) entry: u32,
    pub(super) hash: u64,
    /// The new slot of the owner of a point that is added.
    pub(super) added: Option<u32>,
}

/// What distinguishes one ring from another, in the order of entries. At one entry, what is added goes before what is removed.
#[derive(Debug)]
pub(super) struct Edits {
    all: Vec<Edit>,
    /// By how much entries are moved after so many edits, modulo 2^32.
    shifts: Vec<u32>,
    /// By how much all entries of each block are moved, or `EDITED`.
    blocks: Vec<u32>,
}

/// The entries of a block are not all moved alike. No ring is so large that entries move so far.
const EDITED: u32 = 1 << 31;

impl Edits {
    /// Takes edits of a ring of so many entries. What is added at one entry must be in order.
    pub(super) fn new(mut all: Vec<Edit>, entries: usize) -> Self {
        // Stable, so that what is added stays in order.
        all.sort_by_key(|edit| (edit.entry, edit.added.is_none()));
        let mut shifts = Vec::with_capacity(all.len() + 1);
        let mut shift = 0u32;
        shifts.push(shift);
        for edit in &all {
            shift = shift.wrapping_add_signed(if edit.added.is_some() { 1 } else { -1 });
            shifts.push(shift);
        }
        let mut past = 0;
        let mut block = |block: usize| {
            let end = (block + 1) * BLOCK;
            let within = all[past..].iter().take_while(|edit| (edit.entry as usize) < end).count();
            past += within;
            if within == 0 { shifts[past] } else { EDITED }
        };
        let blocks = (0..entries.div_ceil(BLOCK)).map(&mut block).collect();
        Self { all, shifts, blocks }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Edit> {
        self.all.iter().copied()
    }

    /// Tells how many points there are more, modulo 2^32, after each edit.
    pub(super) fn shifts(&self) -> impl Iterator<Item = (Edit, u32)> {
        self.iter().zip(self.shifts[1..].iter().copied())
    }

    /// Lists the points that are added: the slots of their owners, and their entries in the new ring.
    pub(super) fn added(&self) -> impl Iterator<Item = (u32, u32)> {
        let edits = self.all.iter().zip(&self.shifts);
        edits.filter_map(|(edit, shift)| Some((edit.added?, edit.entry.wrapping_add(*shift))))
    }

    /// Returns where an entry that is not removed is in the new ring.
    #[inline]
    pub(super) fn moved(&self, entry: u32) -> u32 {
        match self.blocks[entry as usize / BLOCK] {
            EDITED => entry.wrapping_add(self.shifts[self.past(entry)]),
            shift => entry.wrapping_add(shift),
        }
    }

    pub(super) fn is_removed(&self, entry: u32) -> bool {
        let last = self.past(entry).checked_sub(1).map(|last| self.all[last]);
        last.is_some_and(|last| last.entry == entry && last.added.is_none())
    }

    /// Returns how many edits there are up to `entry`.
    fn past(&self, entry: u32) -> usize {
        self.all.partition_point(|edit| edit.entry <= entry)
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, Edits};

    #[test]
    fn entries_move_as_they_do_in_a_list_that_is_edited() {
        let size = 1_000u32;
        for step in [1, 7, 40, 333, 2_000] {
            let added = (0..=size).filter(|entry| entry * 7 % step == 0).map(|entry| (entry, Some(9)));
            let removed = (0..size).filter(|entry| entry * 11 % step == 3).map(|entry| (entry, None));
            let edit = |(entry, added)| Edit { entry, hash: 0, added };
            let edits = Edits::new(added.clone().chain(removed.clone()).map(edit).collect(), size as usize);
            let mut expected = Vec::new();
            for entry in 0..=size {
                expected.extend(added.clone().filter(|(at, _)| *at == entry).map(|_| None));
                if entry < size && !removed.clone().any(|(at, _)| at == entry) {
                    expected.push(Some(entry));
                }
            }
            let at = |what: Option<u32>| expected.iter().position(|entry| *entry == what);
            for entry in 0..size {
                let kept = Some(entry).filter(|entry| !edits.is_removed(*entry));
                assert_eq!(kept.map(|entry| edits.moved(entry) as usize), at(Some(entry)));
            }
            let new = (0u32..).zip(&expected).filter(|(_, old)| old.is_none()).map(|(new, _)| (9, new));
            assert!(edits.added().eq(new), "one in {step}");
        }
    }
}
