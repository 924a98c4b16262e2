//! What lies between disks and memory, against what the studies measured of it.

use super::tests::{check, measure, random, sequential};
use halfpower_model::Operation::{Read, Write};
use halfpower_model::{Bytes, Pattern, Workload};

/// Requests of one size, two deep on each of four drives that answer from their buffers.
fn burst(volume: &str, operation: halfpower_model::Operation, kib: u64) -> f64 {
    let change = |workload| Workload {
        operation,
        request_size: Bytes(kib << 10),
        depth: 2,
        workers: 4,
        targets: 4,
        pattern: Pattern::Sequential,
        ..workload
    };
    measure(volume, change).total.bytes_per_s.0 / 1_048_576.0
}

#[test]
fn buses_and_controllers_carry_from_caches_what_the_study_has() {
    check("PCI, 1 MB", burst("pci-burst", Read, 1024), 98.5, 5.0);
    check("PCI, 64 KB at the least", burst("pci-burst", Read, 64), 83.6, 5.0);
    check("PCI, 64 KB at the most", burst("pci-burst", Read, 64), 87.0, 5.0);
    check("3ware 5400", burst("3ware-5400-burst", Read, 64), 58.9, 5.0);
    check("3ware 6800", burst("3ware-6800-burst", Read, 64), 101.0, 5.0);
    check("3ware 6800, writes", burst("3ware-6800-burst", Write, 64), 85.0, 5.0);
}

#[test]
fn stripes_of_atlas_grow_until_the_adapter_is_full() {
    check("three, reads", sequential("atlas-3", Read, 64, 8), 73.0, 5.0);
    check("four, reads", sequential("atlas-4", Read, 64, 8), 87.0, 5.0);
    check("three, writes", sequential("atlas-3", Write, 64, 8), 50.0, 5.0);
    check("four, writes", sequential("atlas-4", Write, 64, 8), 50.0, 5.0);
}

#[test]
fn stripes_of_fireballs_grow_until_the_card_is_full() {
    check("two by Windows", sequential("fireball-sw-2", Read, 64, 8), 39.0, 5.0);
    check("two", sequential("fireball-raid0-2", Read, 64, 8), 39.0, 5.0);
    check("two, writes", sequential("fireball-raid0-2", Write, 64, 8), 36.5, 5.0);
    check("three", sequential("fireball-raid0-3", Read, 64, 8), 55.0, 5.0);
    check("three, writes", sequential("fireball-raid0-3", Write, 64, 8), 40.0, 5.0);
    check("four", sequential("fireball-raid0-4", Read, 64, 8), 56.0, 5.0);
    check("four, writes", sequential("fireball-raid0-4", Write, 64, 8), 41.0, 5.0);
}

/// Figure 34 of the study of 2000, by its traces: depths 1, 2, 4, 8, 16, 32.
#[test]
fn raid0_and_raid1_have_their_curves() {
    let curves = [
        ("fireball-raid0-2", Read, [65.25, 91.0, 104.24, 117.94, 136.77, 151.34]),
        ("fireball-sw-2", Read, [65.64, 90.57, 104.35, 118.13, 136.14, 150.89]),
        ("fireball-raid1-2", Read, [78.2, 112.44, 132.97, 151.31, 170.23, 185.1]),
        ("fireball-raid0-2", Write, [155.47, 154.68, 156.29, 156.08, 159.05, 160.68]),
        ("fireball-raid1-2", Write, [88.2, 88.63, 88.56, 88.07, 89.5, 90.94]),
    ];
    for (volume, operation, published) in curves {
        for (doublings, rate) in published.into_iter().enumerate() {
            let depth = 1 << doublings;
            check(&format!("{volume} {operation:?} {depth} deep"), random(volume, operation, depth), rate, 8.0);
        }
    }
}

#[test]
fn disks_of_their_own_add_up() {
    let each = |operation| {
        let change = |workload| Workload {
            operation,
            pattern: Pattern::Random,
            request_size: Bytes(8192),
            span: Bytes(24_000 << 20),
            workers: 4,
            targets: 4,
            ..workload
        };
        measure("fireball-each-4", change).total.requests_per_s
    };
    check("reads of four", each(Read), 262.0, 5.0);
    check("writes of four", each(Write), 358.0, 5.0);
}

#[test]
fn a_processor_that_moves_the_bytes_is_slow_and_busy() {
    let published = [(1, 60.34), (2, 60.13), (4, 64.65), (8, 73.62), (16, 80.46), (32, 86.06)];
    for (depth, rate) in published {
        check(&format!("reads {depth} deep"), random("fireball-pio", Read, depth), rate, 5.0);
    }
}
