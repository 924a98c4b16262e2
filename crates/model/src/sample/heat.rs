//! Latencies over time, coarse enough to be kept with a sample.

use crate::histogram::{BUCKETS, Histogram, SUB_BUCKET_BITS, bucket_low};
use serde::{Deserialize, Serialize};

/// Most columns; from there on two become one.
const COLUMNS_MAX: usize = 120;
/// log2 of the histogram's buckets in a band. There are four bands to an octave.
const BAND_BITS: u32 = SUB_BUCKET_BITS - 2;

/// How many requests took how long, by time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Seconds of a column.
    pub column_s: f64,
    /// For each column, from the start on: bands of latency with their requests.
    pub columns: Vec<Vec<(usize, u64)>>,
    /// For each column, the seconds in which these requests completed: looks do not begin and end with it.
    pub seconds: Vec<f64>,
}

impl Heat {
    /// Without requests, in columns of `column_s` seconds at first.
    pub fn new(column_s: f64) -> Heat {
        Heat { column_s, ..Heat::default() }
    }

    /// Adds the latencies of an interval by its end, in seconds from the start.
    pub fn add(&mut self, at_s: f64, latencies: &Histogram) {
        // The end of an interval belongs to the column before it.
        let column = |column_s: f64| ((at_s / column_s - 1e-6).floor().max(0.0)) as usize;
        while column(self.column_s) >= COLUMNS_MAX {
            self.column_s *= 2.0;
            let pairs = self.columns.chunks(2).map(|pair| {
                let mut one = Vec::new();
                pair.iter().flatten().for_each(|(band, requests)| count(&mut one, *band, *requests));
                one
            });
            self.columns = pairs.collect();
            self.seconds = self.seconds.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let column = column(self.column_s);
        let length = self.columns.len().max(column + 1);
        self.columns.resize_with(length, Vec::new);
        self.seconds.resize(length, 0.0);
        self.seconds[column] += at_s - self.seconds.iter().sum::<f64>();
        latencies.bins().for_each(|(bucket, requests)| count(&mut self.columns[column], bucket >> BAND_BITS, requests));
    }

    /// Requests per second of each column; zero where none completed.
    pub fn requests_per_s(&self) -> Vec<f64> {
        let requests = |bands: &Vec<(usize, u64)>| bands.iter().map(|(_, requests)| *requests as f64).sum::<f64>();
        let each = self.columns.iter().zip(&self.seconds).take(COLUMNS_MAX);
        each.map(|(bands, seconds)| if *seconds > 0.0 { requests(bands) / seconds } else { 0.0 }).collect()
    }

    /// Its cells: the column, the least and the largest nanoseconds of the band, and the requests.
    pub fn cells(&self) -> impl Iterator<Item = (usize, [u64; 2], u64)> + '_ {
        let columns = self.columns.iter().take(COLUMNS_MAX).enumerate();
        columns
            .flat_map(|(column, bands)| bands.iter().map(move |(band, requests)| (column, *band, *requests)))
            .filter_map(|(column, band, requests)| {
                let ends = [band, band.checked_add(1)?].map(|band| band.checked_mul(1 << BAND_BITS));
                let [Some(low), Some(high)] = ends else { return None };
                (high < BUCKETS && requests > 0).then(|| (column, [bucket_low(low), bucket_low(high)], requests))
            })
    }
}

/// Adds requests of a band; bands come in no order.
fn count(bands: &mut Vec<(usize, u64)>, band: usize, requests: u64) {
    match bands.iter_mut().find(|(known, _)| *known == band) {
        Some((_, known)) => *known += requests,
        None => bands.push((band, requests)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_longer_and_nothing_is_lost() {
        let mut heat = Heat::new(0.1);
        for number in 1..=1000_u32 {
            let mut latencies = Histogram::default();
            latencies.record(100_000);
            latencies.record(if number > 500 { 9_000_000 } else { 120_000 });
            heat.add(f64::from(number) * 0.1, &latencies);
        }
        assert!(heat.columns.len() <= COLUMNS_MAX && heat.column_s == 1.6, "{heat:?}");
        assert_eq!(heat.cells().map(|(.., requests)| requests).sum::<u64>(), 2000);
        let slow: Vec<_> = heat.cells().filter(|(_, [low, _], _)| *low > 1_000_000).collect();
        assert!(slow.iter().all(|(column, [low, high], _)| *column >= 31 && *low <= 9_000_000 && 9_000_000 < *high));
        assert!(heat.requests_per_s().iter().all(|rate| (rate - 20.0).abs() < 1e-6), "{:?}", heat.requests_per_s());
        assert_eq!(slow.iter().map(|(.., requests)| requests).sum::<u64>(), 500);
    }

    #[test]
    fn a_record_of_strangers_has_no_cell_that_cannot_be() {
        let heat = Heat {
            column_s: 0.1,
            columns: vec![vec![(usize::MAX, 3), (1 << 20, 1), (40, 0), (40, 2)]; 1000],
            seconds: vec![],
        };
        assert_eq!((heat.cells().count(), heat.requests_per_s().len()), (COLUMNS_MAX, 0));
    }
}
