//! Claims on `poise::core::{StableHasher, Prehashed}`.

use std::hash::{BuildHasher, Hash, Hasher};

use poise::core::{Prehashed, PrehashedBuildHasher, StableBuildHasher, StableHasher};
use quickcheck::quickcheck;

fn hash_of_bytes(seed: u64, bytes: &[u8]) -> u64 {
    let mut hasher = StableHasher::with_seed(seed);
    hasher.write(bytes);
    hasher.finish()
}

fn hash_of(key: impl Hash) -> u64 {
    StableBuildHasher::default().hash_one(key)
}

#[test]
fn published_vectors_of_xxh64_hold() {
    assert_eq!(StableHasher::default().finish(), 0xEF46_DB37_51D8_E999);
    assert_eq!(hash_of_bytes(0, b"a"), 0xD24E_C4F1_A98C_6E5B);
    assert_eq!(hash_of_bytes(0, b"abc"), 0x44BC_2CF5_AD77_0999);
    assert_eq!(hash_of_bytes(0, b"Nobody inspects the spammish repetition"), 0xFBCE_A83C_8A37_8BF1);
}

#[test]
fn keys_of_every_kind_are_the_bytes_that_the_docs_promise() {
    let promised: [(u64, &[u8]); 12] = [
        (hash_of("key"), b"key\xff"),
        (hash_of(String::from("key")), b"key\xff"),
        (hash_of(b"key".as_slice()), b"\x03\0\0\0\0\0\0\0key"),
        (hash_of(0x0102_0304_u32), b"\x04\x03\x02\x01"),
        (hash_of(0x0102_0304_0506_0708_u64), b"\x08\x07\x06\x05\x04\x03\x02\x01"),
        (hash_of(0x0102_u16), b"\x02\x01"),
        (hash_of(-2_i32), b"\xfe\xff\xff\xff"),
        (hash_of(1_u128), b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        (hash_of(5_usize), b"\x05\0\0\0\0\0\0\0"),
        (hash_of(-1_isize), b"\xff\xff\xff\xff\xff\xff\xff\xff"),
        (hash_of(("key", 7_u8, true)), b"key\xff\x07\x01"),
        (hash_of('x'), b"x\0\0\0"),
    ];
    for (hash, bytes) in promised {
        assert_eq!(hash, hash_of_bytes(0, bytes), "{bytes:?}");
    }
}

#[test]
fn placement_is_frozen() {
    let actual = [
        hash_of("key"),
        hash_of(7_u32),
        hash_of(7_u64),
        hash_of(("tenant", 42_u64)),
        hash_of("k".repeat(64)),
        hash_of("k".repeat(63)),
        StableBuildHasher::with_seed(1).hash_one("key"),
    ];
    let frozen = [
        0xB743_23C4_2838_5CD4,
        0xB7CA_480E_9B96_0D0E,
        0x0876_CD40_6AFD_E455,
        0x284D_59DF_CFE6_7187,
        0xC228_8827_0F1F_0587,
        0x6F63_7A0F_3021_2C82,
        0x3235_8E5C_46E9_8FD9,
    ];
    assert_eq!(actual, frozen, "{actual:#X?}");
}

#[test]
fn seeds_make_different_hashes() {
    assert_eq!(StableBuildHasher::default(), StableBuildHasher::with_seed(0));
    assert_ne!(hash_of("key"), StableBuildHasher::with_seed(1).hash_one("key"));
    assert_eq!(StableBuildHasher::with_seed(9).seed(), 9);
}

#[test]
fn debug_output_hides_seed_and_key() {
    let mut hasher = StableHasher::with_seed(123_456);
    hasher.write(b"secret");
    assert_eq!(
        format!("{hasher:?} {:?}", StableBuildHasher::with_seed(123_456)),
        "StableHasher { .. } StableBuildHasher { .. }"
    );
}

#[test]
fn a_prehashed_key_that_is_not_alone_is_still_a_key() {
    let hash = PrehashedBuildHasher;
    assert_eq!(hash.build_hasher().finish(), 0);
    assert_ne!(hash.hash_one((Prehashed(1), Prehashed(2))), hash.hash_one((Prehashed(2), Prehashed(1))));
    assert_ne!(hash.hash_one("a"), hash.hash_one("b"));
}

quickcheck! {
    fn a_prehashed_key_is_used_unchanged(value: u64) -> bool {
        PrehashedBuildHasher.hash_one(Prehashed(value)) == value
    }

    fn the_value_depends_on_the_bytes_and_not_on_how_they_are_written(seed: u64, parts: Vec<Vec<u8>>) -> bool {
        let mut split = StableHasher::with_seed(seed);
        for part in &parts {
            split.write(part);
        }
        let whole = parts.concat();
        split.finish() == hash_of_bytes(seed, &whole) && split.finish() == twox_hash::XxHash64::oneshot(seed, &whole)
    }

    fn short_and_long_keys_meet_at_the_seam(seed: u64, extra: u8) -> bool {
        let bytes = vec![extra; 48 + usize::from(extra % 32)];
        let mut split = StableHasher::with_seed(seed);
        for &byte in &bytes {
            split.write_u8(byte);
        }
        split.finish() == twox_hash::XxHash64::oneshot(seed, &bytes)
    }
}
