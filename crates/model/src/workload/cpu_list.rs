//! Lists of CPUs.

use crate::words::Value;
use std::str::FromStr;

/// A list of CPUs as it is written, like `0,2-4`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuList(pub Vec<u32>);

impl CpuList {
    /// The highest number of a CPU.
    const MAX: u32 = 65_535;
}

impl From<CpuList> for Vec<u32> {
    fn from(list: CpuList) -> Vec<u32> {
        list.0
    }
}

impl Value for CpuList {
    fn exact(&self) -> Option<String> {
        self.0.exact()
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no list of CPUs; write one like 0,2 or 0-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.trim().parse().map_err(|_| wrong())?;
            let last: u32 = last.trim().parse().map_err(|_| wrong())?;
            if last < first || last > CpuList::MAX {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        Ok(CpuList(cpus))
    }
}
