//! Claims on `poise::core::Rng`.

use poise::core::Rng;
use quickcheck::quickcheck;

/// Chi-square's value that fair draws exceed once in a million runs (Wilson and Hilferty's approximation, z = 4.753).
fn threshold(degrees: usize) -> f64 {
    let k = degrees as f64;
    k * (1.0 - 2.0 / (9.0 * k) + 4.753 * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

fn chi_square(counts: &[u32]) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
}

fn assert_uniform(counts: &[u32], what: &str) {
    let (chi, limit) = (chi_square(counts), threshold(counts.len() - 1));
    assert!(chi < limit, "{what}: chi-square {chi:.1} of {} cells is above {limit:.1}", counts.len());
}

#[test]
fn seeded_draws_are_those_of_split_mix() {
    let rng = Rng::seeded(1_234_567);
    let expected = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    assert_eq!(expected.map(|_| rng.next_u64()), expected);
}

#[test]
fn below_is_uniform() {
    for (seed, n) in [(1, 2), (2, 3), (3, 7), (4, 64), (5, 1000)] {
        let rng = Rng::seeded(seed);
        let mut counts = vec![0; n];
        (0..n * 1000).for_each(|_| counts[rng.below(n)] += 1);
        assert_uniform(&counts, &format!("below {n}"));
    }
}

#[test]
fn ordered_pairs_are_uniform() {
    for (seed, n) in [(11, 2), (12, 3), (13, 5), (14, 32)] {
        let rng = Rng::seeded(seed);
        let mut counts = vec![0; n * (n - 1)];
        for _ in 0..counts.len() * 1000 {
            let (first, second) = rng.pair(n);
            counts[first * (n - 1) + second - usize::from(second > first)] += 1;
        }
        assert_uniform(&counts, &format!("pairs below {n}"));
    }
}

#[test]
fn pairs_of_a_huge_range_are_uniform_too() {
    let rng = Rng::seeded(21);
    let shift = usize::BITS - 3;
    let mut counts = vec![0; 64];
    for _ in 0..64_000 {
        let (first, second) = rng.pair(usize::MAX);
        counts[(first >> shift) * 8 + (second >> shift)] += 1;
    }
    assert_uniform(&counts, "pairs of a huge range");
}

#[test]
fn units_and_coins_are_uniform() {
    let rng = Rng::seeded(31);
    let (mut units, mut coins) = (vec![0; 100], vec![0; 2]);
    for _ in 0..100_000 {
        let unit = rng.unit();
        assert!((0.0..1.0).contains(&unit));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cell from 0 to 99")]
        let cell = (unit * 100.0) as usize;
        units[cell] += 1;
        coins[usize::from(rng.coin())] += 1;
    }
    assert_uniform(&units, "units");
    assert_uniform(&coins, "coins");
}

#[test]
fn there_is_an_answer_where_there_is_no_choice() {
    for rng in [Rng::seeded(0), Rng::thread()] {
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
        assert_eq!((rng.pair(0), rng.pair(1)), ((0, 0), (0, 0)));
    }
}

#[test]
fn a_clone_of_a_seeded_one_has_a_stream_of_its_own() {
    let draws = |rng: &Rng| (0..1000).map(|_| rng.next_u64()).collect::<Vec<_>>();
    let family = || {
        let original = Rng::seeded(5);
        let (first, second) = (original.clone(), original.clone());
        [draws(&original), draws(&first), draws(&second), draws(&first.clone())]
    };
    let streams = family();
    let mut all = streams.concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 4000, "no stream repeats a part of another");
    assert_eq!(streams, family(), "clones are as reproducible as their original");
}

#[test]
fn a_clone_of_the_threads_one_is_the_threads_one() {
    assert_eq!(format!("{:?} {:?}", Rng::default(), Rng::thread().clone()), "Rng::thread Rng::thread");
}

#[test]
fn debug_output_tells_no_state() {
    let rng = Rng::seeded(0xDEAD_BEEF);
    assert_eq!(format!("{rng:?}"), "Rng::seeded");
}

quickcheck! {
    fn pairs_are_distinct_and_in_range(seed: u64, n: usize) -> bool {
        let n = n.max(2);
        let (first, second) = Rng::seeded(seed).pair(n);
        first < n && second < n && first != second
    }

    fn below_is_in_range(seed: u64, n: usize) -> bool {
        Rng::seeded(seed).below(n) < n.max(1)
    }
}
