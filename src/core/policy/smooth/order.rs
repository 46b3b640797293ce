//! The order of turns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// How many cycles are tried until the order repeats itself.
const CYCLES: usize = 3;

/// Turns in order: some that come once, and then a cycle that repeats.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) slots: Vec<u32>,
    /// How many come once.
    pub(super) lead: usize,
}

/// Plays the rounds of nginx: everybody gains credit by its turns, who has the most is next, the first of several, and pays
/// a whole cycle. `None` when credits are so far apart that no cycle begins for long.
///
/// Members of equal turns are in one queue, since they gain alike: only its head can be next.
///
/// The same members are where they were, and so repeat themselves, as soon as in one cycle everybody had its turns.
pub(super) fn order(turns: &[u32], cycle: u32, credits: &[i64]) -> Option<Order> {
    let mut line = Line::new(turns, credits);
    let mut window = Window::new(turns);
    let length = cycle as usize;
    let mut slots = Vec::with_capacity(length);
    while slots.len() < length * CYCLES {
        let slot = line.next(i64::from(cycle));
        slots.push(slot);
        window.change(slot, 1);
        if let Some(left) = slots.len().checked_sub(length + 1) {
            window.change(slots[left], -1);
        }
        if slots.len() >= length && window.off == 0 {
            let lead = slots.len() - length;
            return Some(Order { slots, lead });
        }
    }
    None
}

/// The heads of all queues and, in the same order, the queues.
struct Line {
    heads: Vec<Head>,
    queues: Vec<VecDeque<Waiting>>,
    rounds: i64,
}

struct Head {
    gain: i64,
    credit: i64,
    slot: u32,
}

/// A member with its credit before the first round, minus what it has paid since.
#[derive(Clone, Copy)]
struct Waiting {
    base: i64,
    slot: u32,
}

impl Waiting {
    /// Orders members that gain alike: the next one is greatest.
    fn rank(self) -> (i64, Reverse<u32>) {
        (self.base, Reverse(self.slot))
    }
}

impl Line {
    fn new(turns: &[u32], credits: &[i64]) -> Self {
        let mut classes: BTreeMap<u32, Vec<Waiting>> = BTreeMap::new();
        for ((slot, turns), base) in (0..).zip(turns).zip(credits) {
            classes.entry(*turns).or_default().push(Waiting { base: *base, slot });
        }
        let mut line = Self { heads: Vec::new(), queues: Vec::new(), rounds: 0 };
        for (turns, mut members) in classes {
            members.sort_unstable_by_key(|member| Reverse(member.rank()));
            let Waiting { base, slot } = members[0];
            line.heads.push(Head { gain: i64::from(turns), credit: base, slot });
            line.queues.push(members.into());
        }
        line
    }

    /// Plays one round, in which the next one pays `price`.
    fn next(&mut self, price: i64) -> u32 {
        self.rounds += 1;
        let (mut next, mut most) = (0, (i64::MIN, Reverse(u32::MAX)));
        for (at, head) in self.heads.iter_mut().enumerate() {
            head.credit += head.gain;
            let found = (head.credit, Reverse(head.slot));
            if found > most {
                (next, most) = (at, found);
            }
        }
        let queue = &mut self.queues[next];
        if let Some(payer) = queue.pop_front() {
            enqueue(queue, Waiting { base: payer.base - price, ..payer });
        }
        let (head, first) = (&mut self.heads[next], queue[0]);
        head.credit = first.base + head.gain * self.rounds;
        head.slot = first.slot;
        most.1.0
    }
}

/// Inserts from the back, where the place of who has just paid is, or close to it.
fn enqueue(queue: &mut VecDeque<Waiting>, member: Waiting) {
    let mut at = queue.len();
    queue.push_back(member);
    while at > 0 && queue[at - 1].rank() < member.rank() {
        queue.swap(at - 1, at);
        at -= 1;
    }
}

/// Counts the turns of each member in the last cycle.
struct Window<'a> {
    turns: &'a [u32],
    counts: Vec<u32>,
    /// How many members do not have their turns.
    off: usize,
}

impl<'a> Window<'a> {
    fn new(turns: &'a [u32]) -> Self {
        Self { turns, counts: vec![0; turns.len()], off: turns.len() }
    }

    fn change(&mut self, slot: u32, by: i32) {
        let (count, turns) = (&mut self.counts[slot as usize], self.turns[slot as usize]);
        self.off += usize::from(*count == turns);
        *count = count.wrapping_add_signed(by);
        self.off -= usize::from(*count == turns);
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, order};

    #[test]
    fn a_cycle_from_rest_is_that_of_nginx() {
        let order = |turns: &[u32]| order(turns, turns.iter().sum(), &vec![0; turns.len()]);
        assert_eq!(order(&[5, 1, 1]), Some(Order { slots: vec![0, 0, 1, 0, 2, 0, 0], lead: 0 }));
        assert_eq!(order(&[4, 2, 1]), Some(Order { slots: vec![0, 1, 0, 2, 0, 1, 0], lead: 0 }));
        assert_eq!(order(&[1, 2, 3]), Some(Order { slots: vec![2, 1, 0, 2, 1, 2], lead: 0 }));
    }

    #[test]
    fn what_is_owed_is_paid_first_and_once() {
        assert_eq!(order(&[1, 1], 2, &[-1, 1]), Some(Order { slots: vec![1, 0], lead: 0 }));
        assert_eq!(order(&[1, 1], 2, &[1, -1]), Some(Order { slots: vec![0, 0, 1], lead: 1 }));
        assert_eq!(order(&[1, 1], 2, &[9, -9]), None, "nine turns in advance are no schedule");
    }
}
