//! A directory of plain backends and what tests ask of it.

use std::sync::Arc;

use poise::core::{Backend, Status};
use poise::discovery::{Applied, Change, Directory, DirectoryError, Snapshot};

pub(crate) type Endpoints = Directory<&'static str, Backend<&'static str>>;

pub(crate) fn directory(keys: &[&'static str]) -> Endpoints {
    let mut directory = Directory::new();
    directory.apply(keys.iter().map(|key| Change::upsert(*key, Backend::new(*key)))).unwrap();
    directory
}

pub(crate) fn replace(directory: &mut Endpoints, set: &[&'static str]) -> Result<Applied, DirectoryError> {
    directory.replace(set.iter().map(|key| (*key, Backend::new(*key))), Backend::is_same_endpoint)
}

pub(crate) fn keys<K: Copy, B>(snapshot: &Snapshot<K, B>) -> Vec<K> {
    snapshot.iter().map(|member| *member.key()).collect()
}

pub(crate) fn status(directory: &Endpoints, key: &'static str) -> Option<Status> {
    directory.get(&key).map(|member| member.attributes().status())
}

pub(crate) fn allocation<B>(directory: &Directory<&'static str, B>, key: &'static str) -> Arc<B> {
    Arc::clone(directory.get(&key).unwrap().backend())
}
