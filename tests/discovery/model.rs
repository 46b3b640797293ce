//! The directory against a plain list that is copied before each call.

use std::collections::HashMap;
use std::sync::Arc;

use poise::core::{Attributes, Status, Weight};
use poise::discovery::{Change, Directory, DirectoryError, Effect, Revision, Snapshot};
use quickcheck::{Arbitrary, Gen, QuickCheck};

type Key = u8;

#[derive(Clone, Debug)]
enum Step {
    Upsert(Key, u8),
    Amend(Key, Attributes),
    Remove(Key),
    Finish(Key),
}

#[derive(Clone, Debug)]
enum Call {
    Single(Step),
    Batch(Vec<Step>),
    Replace(Vec<(Key, u8, Attributes)>),
    FinishWhere(u8),
}

fn key(g: &mut Gen) -> Key {
    u8::arbitrary(g) % 6
}

fn value(g: &mut Gen) -> u8 {
    u8::arbitrary(g) % 3
}

fn attributes(g: &mut Gen) -> Attributes {
    let status = *g.choose(&[Status::Ready, Status::Ready, Status::Draining, Status::Unavailable]).unwrap();
    let weight = Weight::new(1 + u32::arbitrary(g) % 2).unwrap();
    Attributes::default().with_status(status).with_weight(weight)
}

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Self {
        match u8::arbitrary(g) % 4 {
            0 => Self::Upsert(key(g), value(g)),
            1 => Self::Amend(key(g), attributes(g)),
            2 => Self::Remove(key(g)),
            _ => Self::Finish(key(g)),
        }
    }
}

impl Arbitrary for Call {
    fn arbitrary(g: &mut Gen) -> Self {
        let length = usize::arbitrary(g) % 6;
        match u8::arbitrary(g) % 4 {
            0 => Self::Single(Step::arbitrary(g)),
            1 => Self::Batch((0..length).map(|_| Step::arbitrary(g)).collect()),
            2 => Self::Replace((0..length).map(|_| (key(g), value(g), attributes(g))).collect()),
            _ => Self::FinishWhere(u8::arbitrary(g)),
        }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        match self {
            Self::Batch(steps) if !steps.is_empty() => {
                let shorter = (0..steps.len()).map(|gone| {
                    let mut steps = steps.clone();
                    steps.remove(gone);
                    Self::Batch(steps)
                });
                Box::new(shorter.collect::<Vec<_>>().into_iter())
            }
            _ => Box::new(std::iter::empty()),
        }
    }
}

#[derive(Clone)]
struct Row {
    key: Key,
    generation: usize,
    value: u8,
    attributes: Attributes,
}

#[derive(Clone, Default)]
struct Model {
    rows: Vec<Row>,
    revision: u64,
    generations: usize,
}

impl Model {
    fn put(&mut self, key: Key, value: u8, attributes: Attributes) -> Effect {
        self.generations += 1;
        let row = Row { key, generation: self.generations, value, attributes };
        if let Some(old) = self.rows.iter_mut().find(|row| row.key == key) {
            *old = row;
            Effect::Replaced
        } else {
            self.rows.push(row);
            Effect::Added
        }
    }

    fn amend(&mut self, at: usize, attributes: Attributes) -> Effect {
        let effect = if self.rows[at].attributes == attributes { Effect::Unchanged } else { Effect::Amended };
        self.rows[at].attributes = attributes;
        effect
    }

    fn drain(&mut self, at: usize) -> Effect {
        let draining = self.rows[at].attributes.clone().with_status(Status::Draining);
        if self.amend(at, draining) == Effect::Amended { Effect::Draining } else { Effect::Unchanged }
    }

    fn step(&mut self, step: &Step, change: usize) -> Result<Effect, DirectoryError> {
        let find = |rows: &[Row], key: Key| rows.iter().position(|row| row.key == key);
        match step {
            Step::Upsert(key, value) => Ok(self.put(*key, *value, Attributes::default())),
            Step::Amend(key, attributes) => match find(&self.rows, *key) {
                Some(at) => Ok(self.amend(at, attributes.clone())),
                None => Err(DirectoryError::UnknownKey { change }),
            },
            Step::Remove(key) => Ok(find(&self.rows, *key).map_or(Effect::Unchanged, |at| self.drain(at))),
            Step::Finish(key) => match find(&self.rows, *key) {
                Some(at) if self.rows[at].attributes.status() == Status::Draining => {
                    self.rows.remove(at);
                    Ok(Effect::Removed)
                }
                Some(_) => Err(DirectoryError::NotDraining { change }),
                None => Err(DirectoryError::UnknownKey { change }),
            },
        }
    }

    fn replace(&mut self, set: &[(Key, u8, Attributes)]) -> Option<Vec<Effect>> {
        let mut effects = Vec::new();
        for (place, (key, value, attributes)) in set.iter().enumerate() {
            if set[..place].iter().any(|(earlier, ..)| earlier == key) {
                return None;
            }
            let same = self.rows.iter().position(|row| row.key == *key && row.value == *value);
            effects.push(match same {
                Some(at) => self.amend(at, attributes.clone()),
                None => self.put(*key, *value, attributes.clone()),
            });
        }
        for at in 0..self.rows.len() {
            if set.iter().all(|(key, ..)| *key != self.rows[at].key) {
                effects.extend(Some(self.drain(at)).filter(|effect| *effect == Effect::Draining));
            }
        }
        Some(effects)
    }

    fn finish_where(&mut self, mask: u8) -> Vec<Effect> {
        let before = self.rows.len();
        self.rows.retain(|row| row.attributes.status() != Status::Draining || mask & (1 << row.key) == 0);
        vec![Effect::Removed; before - self.rows.len()]
    }

    /// Runs a call on a copy and keeps the copy if it succeeded; a duplicate is the error `None`.
    fn call(&mut self, call: &Call) -> Result<Vec<Effect>, Option<DirectoryError>> {
        let mut next = self.clone();
        let effects = match call {
            Call::Single(step) => vec![next.step(step, 0)?],
            Call::Batch(steps) => {
                steps.iter().enumerate().map(|(at, step)| next.step(step, at)).collect::<Result<_, _>>()?
            }
            Call::Replace(set) => next.replace(set).ok_or(None)?,
            Call::FinishWhere(mask) => next.finish_where(*mask),
        };
        let makes_known = self.revision == 0 && matches!(call, Call::Batch(_) | Call::Replace(_));
        let effective = effects.iter().any(|effect| *effect != Effect::Unchanged);
        next.revision += u64::from(effective || makes_known);
        *self = next;
        Ok(effects)
    }
}

fn change(step: Step) -> Change<Key, u8> {
    match step {
        Step::Upsert(key, backend) => Change::Upsert { key, backend, attributes: Attributes::default() },
        Step::Amend(key, attributes) => Change::Amend { key, attributes },
        Step::Remove(key) => Change::Remove { key },
        Step::Finish(key) => Change::FinishDrain { key },
    }
}

fn call(directory: &mut Directory<Key, u8>, call: Call) -> Result<Vec<Effect>, Option<DirectoryError>> {
    let applied = match call {
        Call::Single(step) => {
            let effect = match step {
                Step::Upsert(key, value) => directory.upsert_with(key, value, Attributes::default()),
                Step::Amend(key, attributes) => directory.amend(&key, attributes),
                Step::Remove(key) => directory.remove(&key),
                Step::Finish(key) => directory.finish_drain(&key),
            };
            return Ok(vec![effect?]);
        }
        Call::Batch(steps) => directory.apply(steps.into_iter().map(change)),
        Call::Replace(set) => directory.replace_with(set, |old, new| old == new),
        Call::FinishWhere(mask) => directory.finish_drained_where(|member| mask & (1 << member.key()) != 0),
    };
    match applied {
        Ok(applied) => Ok(applied.effects().to_vec()),
        Err(DirectoryError::DuplicateKey(_)) => Err(None),
        Err(error) => Err(Some(error)),
    }
}

/// Remembers which allocation each generation of the model has, and that no two share one.
#[derive(Default)]
struct Allocations(HashMap<usize, Arc<u8>>);

impl Allocations {
    fn agree(&mut self, generation: usize, backend: &Arc<u8>) -> bool {
        if let Some(known) = self.0.get(&generation) {
            return Arc::ptr_eq(known, backend);
        }
        let is_new = self.0.values().all(|known| !Arc::ptr_eq(known, backend));
        self.0.insert(generation, Arc::clone(backend));
        is_new
    }
}

fn agrees(model: &Model, snapshot: &Snapshot<Key, u8>, allocations: &mut Allocations) -> bool {
    snapshot.revision() == Revision::new(model.revision)
        && snapshot.len() == model.rows.len()
        && (0..6).all(|key| {
            let place = model.rows.iter().position(|row| row.key == key);
            snapshot.position(&key) == place && snapshot.get(&key).is_some() == place.is_some()
        })
        && model.rows.iter().zip(snapshot).all(|(row, member)| {
            row.key == *member.key()
                && row.value == **member.backend()
                && row.attributes == *member.attributes()
                && allocations.agree(row.generation, member.backend())
        })
}

fn follows(calls: Vec<Call>) -> bool {
    let (mut model, mut directory) = (Model::default(), Directory::new());
    let (mut allocations, reader) = (Allocations::default(), directory.reader());
    calls.into_iter().all(|next| {
        let expected = model.call(&next);
        call(&mut directory, next) == expected
            && agrees(&model, &directory.snapshot(), &mut allocations)
            && agrees(&model, &reader.load(), &mut allocations)
    })
}

#[test]
fn every_sequence_of_calls_does_what_a_plain_list_does() {
    QuickCheck::new().tests(2_000).quickcheck(follows as fn(Vec<Call>) -> bool);
}
