//! Sizes of a job's requests: `bs`, `bsrange`, `bssplit`.

use super::job::{Direction, Settings};

/// Maximum number of sizes of `bsrange`.
const SIZES_MAX: u64 = 16;

/// Of requests without a size.
const DEFAULT_SIZE: u64 = 4096;

/// Sizes with their weights.
type Weighted = Vec<(u64, u64)>;

impl Settings<'_> {
    pub(super) fn has_several_sizes(&self) -> bool {
        ["bsrange", "bssplit"].iter().any(|name| self.get(name).is_some())
            || self.get("bs").is_some_and(|bs| bs.contains([',', '-']))
    }

    /// The smallest size.
    pub(super) fn smallest(&self, direction: &Direction<'_>) -> Result<u64, String> {
        Ok(self.sizes(direction)?.iter().flatten().map(|(size, _)| *size).min().unwrap_or(DEFAULT_SIZE).max(1))
    }

    /// Sizes with their weights, those of reads and of writes if they differ.
    pub(super) fn sizes(&self, direction: &Direction<'_>) -> Result<Vec<Weighted>, String> {
        let name = ["bssplit", "bsrange"].into_iter().find(|name| self.get(name).is_some()).unwrap_or("bs");
        let of = |text: &str| match name {
            "bssplit" => self.split(text),
            "bs" if !text.contains('-') => Ok(vec![(self.size(text, name)?, 1)]),
            _ => self.range(text, name),
        };
        let text = self.get(name).unwrap_or("4k");
        // An empty part is the default; a kind without a part has the one before.
        let part = |part: &str| if part.is_empty() { Ok(vec![(DEFAULT_SIZE, 1)]) } else { of(part) };
        let kinds: Vec<Weighted> = text.split(',').map(part).collect::<Result<_, _>>()?;
        let kind = |number: usize| kinds[number.min(kinds.len() - 1)].clone();
        Ok(match direction.kind {
            "read" => vec![kind(0)],
            "write" => vec![kind(1)],
            "trim" => vec![kind(2)],
            "trim_write" if kind(1) == kind(2) => vec![kind(1)],
            "trim_write" => return Err(self.wrong(name, "trims and their writes have one size")),
            _ if kind(0) == kind(1) => vec![kind(0)],
            _ => vec![kind(0), kind(1)],
        })
    }

    fn split(&self, text: &str) -> Result<Weighted, String> {
        let wrong = || self.wrong("bssplit", "use SIZE/PERCENT:SIZE/PERCENT");
        let (mut sizes, mut open) = (Vec::new(), Vec::new());
        for part in text.split(':') {
            let (size, share) = part.split_once('/').unwrap_or((part, ""));
            let size = self.size(size, "bssplit")?;
            match share {
                "" => open.push(size),
                share => sizes.push((size, share.parse().map_err(|_| wrong())?)),
            }
        }
        let rest = 100_u64.checked_sub(sizes.iter().map(|(_, share)| share).sum());
        let rest = rest.ok_or_else(|| self.wrong("bssplit", "its shares are more than 100 %"))?;
        let count = open.len() as u64;
        sizes.extend(open.into_iter().map(|size| (size, (rest / count).max(1))));
        sizes.retain(|(_, share)| *share > 0);
        if sizes.is_empty() { Err(wrong()) } else { Ok(sizes) }
    }

    fn range(&self, text: &str, name: &str) -> Result<Weighted, String> {
        let wrong = || self.wrong(name, "use SMALLEST-LARGEST, like 4k-64k");
        let (low, high) = text.split_once(['-', ':']).ok_or_else(wrong)?;
        let (low, high) = (self.size(low, name)?, self.size(high, name)?);
        let multiples = high.checked_div(low).filter(|count| *count > 0).ok_or_else(wrong)?;
        let (count, rest) = (multiples.min(SIZES_MAX), high % low);
        let steps = count - 1;
        // As many below the middle as above it, so that the mean is fio's.
        let multiple = |step: u64| 1 + (step * (multiples - 1) + steps / 2).checked_div(steps).unwrap_or(0);
        // A size that is drawn beyond the largest is the largest.
        let (each, last) = (u128::from(multiples) * u128::from(low), u128::from(rest) * u128::from(count));
        let unit = gcd(each, last);
        let largest = (rest > 0).then_some((high, (last / unit) as u64));
        Ok((0..=steps).map(|step| (low * multiple(step), (each / unit) as u64)).chain(largest).collect())
    }
}

fn gcd(one: u128, other: u128) -> u128 {
    if other == 0 { one } else { gcd(other, one % other) }
}
