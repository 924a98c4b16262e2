use super::*;
use crate::chi_square::misfit;

/// How far 100 000 draws are from the known shares, as a multiple of what chance allows. The bins are the first ranks,
/// then ever wider ones (by a sixteenth), to the end.
fn misfit_of(count: u64, seed: u64, draw: impl Fn(&mut Random) -> u64, share_below: impl Fn(u64) -> f64) -> f64 {
    let mut ends = vec![1_u64];
    while ends[ends.len() - 1] < count {
        let end = ends[ends.len() - 1];
        ends.push((end + (end / 16).max(1)).min(count));
    }
    let below: Vec<f64> = ends.iter().map(|end| share_below(*end)).collect();
    let shares: Vec<f64> = (0..below.len()).map(|i| below[i] - if i == 0 { 0.0 } else { below[i - 1] }).collect();
    let mut counts = vec![0; ends.len()];
    let mut random = Random::new(seed);
    for _ in 0..100_000 {
        let number = draw(&mut random);
        counts[ends.partition_point(|end| *end <= number)] += 1;
    }
    misfit(&counts, &shares)
}

/// The sum of 1/k^theta for k from 1 to `count`, a generalised harmonic number: 128 terms one by one, then by the
/// Euler-Maclaurin formula up to the third derivative; the next term is below 1e-13 of the sum.
fn harmonic(theta: f64, count: u64) -> f64 {
    let area = Area { theta, exponent: 1.0 - theta };
    let exact = count.min(128);
    let head: f64 = (1..=exact).rev().map(|k| area.curve(k as f64)).sum();
    let (from, to) = (exact as f64, count as f64);
    let slope = |x: f64| -theta * area.curve(x) / x;
    let third = |x: f64| slope(x) * (theta + 1.0) * (theta + 2.0) / (x * x);
    head + (area.up_to(to) - area.up_to(from))
        + (area.curve(to) - area.curve(from)) / 2.0
        + (slope(to) - slope(from)) / 12.0
        - (third(to) - third(from)) / 720.0
}

const THETAS: [f64; 9] = [0.0, 0.2, 0.5, 0.8, 0.99, 1.0, 1.0000001, 1.2, 2.0];

fn of_zipf(count: u64, theta: f64, shares_of: f64) -> f64 {
    let (zipf, total) = (Zipf::new(count, theta), harmonic(shares_of, count));
    misfit_of(count, 7, |random| zipf.draw(random), |end| harmonic(shares_of, end) / total)
}

fn of_pareto(count: u64, h: f64, shares_of: f64) -> f64 {
    let (pareto, power) = (Pareto::new(count, h), (1.0 - shares_of).ln() / shares_of.ln());
    misfit_of(count, 11, |random| pareto.draw(random), |end| (end as f64 / count as f64).powf(power))
}

fn of_hot_cold(count: u64, (space, draws): (u16, u16), shares_of: u16) -> f64 {
    let zones = HotCold::new(count, space, draws);
    let hot = HotCold::new(count, shares_of, draws).hot as f64;
    let draws = f64::from(draws) / 1000.0;
    let share = |end: f64| draws * (end / hot).min(1.0) + (1.0 - draws) * ((end - hot) / (count as f64 - hot)).max(0.0);
    misfit_of(count, 13, |random| zones.draw(random), |end| share(end as f64))
}

fn of_normal(count: u64, deviation: f64, shares_of: f64) -> f64 {
    let normal = Normal::new(count, deviation);
    let width = std::f64::consts::SQRT_2 * shares_of;
    let share = |place: f64| (1.0 + libm::erf((place - 0.5) / width) / libm::erf(0.5 / width)) / 2.0;
    misfit_of(count, 17, |random| normal.draw(random), |end| share(end as f64 / count as f64))
}

#[test]
fn draws_fit_the_known_shares() {
    for count in [2, 1_000, 262_144, 1 << 63] {
        let uniform = misfit_of(count, 1, |random| random.below(count), |end| end as f64 / count as f64);
        assert!(uniform < 1.0, "{count}: {uniform}");
        for theta in THETAS {
            let misfit = of_zipf(count, theta, theta);
            assert!(misfit < 1.0, "theta {theta}, {count} ranks: {misfit}");
        }
        for h in [0.01, 0.1, 0.2, 0.35, 0.5] {
            let misfit = of_pareto(count, h, h);
            assert!(misfit < 1.0, "h {h}, {count} ranks: {misfit}");
        }
        for zones in [(200, 800), (1, 500), (500, 500), (900, 100), (999, 1)] {
            let misfit = of_hot_cold(count, zones, zones.0);
            assert!(misfit < 1.0, "{zones:?}, {count} ranks: {misfit}");
        }
        for deviation in [0.01, 0.1, 0.25, 1.0].into_iter().filter(|_| count >= 10) {
            let misfit = of_normal(count, deviation, deviation);
            assert!(misfit < 1.0, "deviation {deviation}, {count} places: {misfit}");
        }
    }
}

/// The test above can fail: it distinguishes a parameter from its neighbour.
#[test]
fn draws_do_not_fit_other_shares() {
    let neighbours = [
        of_zipf(262_144, 0.99, 1.0),
        of_pareto(262_144, 0.2, 0.21),
        of_hot_cold(1000, (200, 800), 205),
        of_normal(262_144, 0.1, 0.103),
    ];
    assert!(neighbours.iter().all(|misfit| *misfit > 1.0), "{neighbours:?}");
}

#[test]
fn harmonic_numbers_are_the_published_ones() {
    let near = |got: f64, known: f64| assert!((got / known - 1.0).abs() < 1e-13, "{got} is not {known}");
    near(harmonic(1.0, 100), 5.187_377_517_639_621);
    near(harmonic(1.0, 1_000_000), 14.392_726_722_865_724);
    // Riemann's zeta at 2, at 1/2 with the first terms of its expansion, and at 10.
    near(harmonic(2.0, 1 << 63), std::f64::consts::PI.powi(2) / 6.0);
    near(harmonic(0.5, 1_000_000), 2000.0 - 1.460_354_508_809_586_8 + 0.0005);
    near(harmonic(10.0, 1 << 40), 1.000_994_575_127_818);
    near(harmonic(0.0, 1 << 40), (1_u64 << 40) as f64);
    // Added up one by one, across the border where the formula takes over.
    for theta in THETAS {
        let mut sum = 0.0;
        for count in 1..=5_000 {
            sum += (count as f64).powf(-theta);
            let is_asked = count <= 200 || count % 97 == 0;
            assert!(
                !is_asked || (harmonic(theta, count) / sum - 1.0).abs() < 1e-12,
                "theta {theta}, {count}: not {sum}"
            );
        }
    }
}

#[test]
fn extremes_stay_inside() {
    // The largest fraction times a count that rounds up stays below the count.
    let nearly_one = 1.0 - f64::EPSILON / 2.0;
    for count in [1, 3, (1 << 53) + 1, (1 << 62) + 12_345, 1 << 63] {
        assert!(scale(nearly_one, count) < count);
        let mut random = Random::new(count);
        for _ in 0..1000 {
            assert!([0.3, 1.0, 90.0].iter().all(|theta| Zipf::new(count, *theta).draw(&mut random) < count));
            assert!(Pareto::new(count, 0.5).draw(&mut random) < count);
            assert!(HotCold::new(count, 1, 500).draw(&mut random) < count);
            assert!(Normal::new(count, 1.0).draw(&mut random) < count);
        }
    }
    let mut random = Random::new(13);
    let (all_hot, all_cold) = (HotCold::new(1000, 10, 1000), HotCold::new(1000, 900, 0));
    assert!((0..10_000).all(|_| all_hot.draw(&mut random) < 10 && all_cold.draw(&mut random) >= 900));
    let steep = Zipf::new(1 << 63, 80.0);
    assert!((0..100_000).all(|_| steep.draw(&mut random) == 0));
}

#[test]
fn gaps_are_exponential() {
    let misfit_against = |mean: f64| {
        let mut random = Random::new(19);
        let mut counts = [0_u64; 100];
        for _ in 0..200_000 {
            // The share of the gaps that are shorter is uniform.
            let shorter = 1.0 - (-exponential_gap(&mut random, 20_000.0) / mean).exp();
            counts[(shorter * 100.0) as usize] += 1;
        }
        misfit(&counts, &[0.01; 100])
    };
    assert!(misfit_against(20_000.0) < 1.0 && misfit_against(20_600.0) > 1.0);
    let mut random = Random::new(23);
    let mean = (0..100_000).map(|_| exponential_gap(&mut random, 20_000.0)).sum::<f64>() / 1e5;
    // A gap's standard deviation is its mean; 3.719 is the 0.9999 quantile.
    assert!((mean - 20_000.0).abs() < 3.719 * 20_000.0 / 1e5_f64.sqrt(), "{mean}");
}

/// A digest of draws of a seed: a change of one bit in a logarithm shows.
#[test]
fn draws_are_part_of_the_format() {
    type Draw = Box<dyn Fn(&mut Random) -> u64>;
    let zipf = |count, theta| -> Draw { Box::new(move |random| Zipf::new(count, theta).draw(random)) };
    let pareto = |count, h| -> Draw { Box::new(move |random| Pareto::new(count, h).draw(random)) };
    let normal = |count, deviation| -> Draw { Box::new(move |random| Normal::new(count, deviation).draw(random)) };
    let cases: [(Draw, u64); 10] = [
        (zipf(262_144, 0.99), 1_976_391_811_557_146_885),
        (zipf(1 << 50, 0.5), 6_276_427_214_683_418_821),
        (zipf(1 << 50, 1.0), 1_642_393_729_466_410_380),
        (zipf(1 << 50, 1.2), 17_919_477_191_532_309_371),
        (pareto(262_144, 0.2), 12_600_392_992_231_014_175),
        (pareto(1 << 50, 0.1), 5_552_571_865_573_823_869),
        (Box::new(|random| HotCold::new(262_144, 200, 800).draw(random)), 11_059_705_713_265_042_318),
        (normal(262_144, 0.1), 3_035_820_134_401_167_038),
        (normal(1 << 50, 0.25), 7_746_974_881_571_154_794),
        (Box::new(|random| exponential_gap(random, 20_000.0).to_bits()), 9_098_344_068_371_123_040),
    ];
    for (number, (draw, expected)) in cases.into_iter().enumerate() {
        let mut random = Random::new(1);
        (0..4).for_each(|_| _ = draw(&mut random));
        let mix = |digest: u64, _| (digest.rotate_left(5) ^ draw(&mut random)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        assert_eq!((0..10_000).fold(0_u64, mix), expected, "{number}");
    }
}
