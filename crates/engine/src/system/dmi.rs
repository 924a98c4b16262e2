//! Memory modules from the firmware's tables (/sys/firmware/dmi/tables/DMI, for root to read): structures of type 17.
//! Source: DMTF DSP0134, System Management BIOS Reference Specification, 7.18.

use halfpower_model::Bytes;
use halfpower_model::reading::inspect::MemoryModule;
use std::collections::BTreeSet;

/// The type of a memory device, and that of the end.
const MEMORY_DEVICE: u8 = 17;
const END: u8 = 127;

/// Every installed module. Truncated tables have the modules before their end.
pub(super) fn modules(tables: &[u8]) -> Vec<MemoryModule> {
    let mut modules = Vec::new();
    let mut rest = tables;
    while let [kind, length, ..] = *rest {
        let length = usize::from(length);
        if kind == END || length < 4 || rest.len() < length {
            break;
        }
        let (formatted, after) = rest.split_at(length);
        // The strings end with an empty one; without any there are two zeros all the same.
        let Some(end) = after.windows(2).position(|pair| pair == [0, 0]) else { break };
        if kind == MEMORY_DEVICE {
            modules.extend(module(&Structure { formatted, strings: &after[..end] }));
        }
        rest = &after[end + 2..];
    }
    modules
}

struct Structure<'t> {
    formatted: &'t [u8],
    strings: &'t [u8],
}

impl Structure<'_> {
    fn word(&self, at: usize) -> Option<u16> {
        self.formatted.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn double_word(&self, at: usize) -> Option<u32> {
        self.formatted.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn string(&self, at: usize) -> Option<String> {
        let number = usize::from(*self.formatted.get(at)?).checked_sub(1)?;
        let text = self.strings.split(|byte| *byte == 0).nth(number)?;
        let text = String::from_utf8_lossy(text).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

/// One module; none for an empty slot.
fn module(structure: &Structure<'_>) -> Option<MemoryModule> {
    let size_bytes = match structure.word(0x0c)? {
        0 | 0xffff => return None,
        0x7fff => u64::from(structure.double_word(0x1c)? & 0x7fff_ffff) << 20,
        size if size & 0x8000 != 0 => u64::from(size & 0x7fff) << 10,
        size => u64::from(size) << 20,
    };
    let speed = |at: usize, extended: usize| match structure.word(at)? {
        0 => None,
        0xffff => structure.double_word(extended),
        speed => Some(u32::from(speed)),
    };
    let kind = match structure.formatted.get(0x12)? {
        0x12 => Some("DDR"),
        0x13 => Some("DDR2"),
        0x18 => Some("DDR3"),
        0x1a => Some("DDR4"),
        0x1b => Some("LPDDR"),
        0x1c => Some("LPDDR2"),
        0x1d => Some("LPDDR3"),
        0x1e => Some("LPDDR4"),
        0x20 => Some("HBM"),
        0x21 => Some("HBM2"),
        0x22 => Some("DDR5"),
        0x23 => Some("LPDDR5"),
        _ => None,
    };
    let places = [structure.string(0x11), structure.string(0x10)];
    Some(MemoryModule {
        place: places.into_iter().flatten().collect::<Vec<_>>().join(" "),
        size_bytes: Bytes(size_bytes),
        kind: kind.map(str::to_owned),
        // The configured speed, else the maximum.
        megatransfers_per_s: speed(0x20, 0x58).or_else(|| speed(0x15, 0x54)),
        width_bytes: structure.word(0x0a).filter(|bits| (8..1024).contains(bits)).map(|bits| u32::from(bits) / 8),
    })
}

/// Number of channels with modules, by the channels in the names of the slots (`P0 CHANNEL A`, `ChannelA-DIMM0`, `DIMM_A1`,
/// `CPU1_DIMM_B2`). A single module is on one channel whatever its name; none if the names have no channels.
pub(super) fn channels(modules: &[MemoryModule]) -> Option<u32> {
    if modules.len() == 1 {
        return Some(1);
    }
    let names =
        modules.iter().map(|module| channel(&module.place.to_uppercase())).collect::<Option<BTreeSet<String>>>()?;
    (!names.is_empty()).then_some(names.len() as u32)
}

/// The identity of a module's channel: its letter, and the socket or controller before it.
fn channel(place: &str) -> Option<String> {
    let (before, letter) = match place.find("CHANNEL") {
        Some(at) => (&place[..at], place[at + 7..].trim_start_matches([' ', '_', '-']).chars().next()?),
        None => {
            let at = place.find("DIMM")?;
            (&place[..at], place[at + 4..].trim_start_matches([' ', '_', '-']).chars().next()?)
        }
    };
    // `DIMM 0` numbers slots, not channels.
    let is_channel = letter.is_ascii_alphabetic() || place.contains("CHANNEL");
    let digits: String = before.chars().filter(char::is_ascii_digit).collect();
    is_channel.then(|| format!("{digits} {letter}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A structure of a memory device as DDR4 boards have it, 40 bytes, and its strings.
    pub(in crate::system) fn device(mebibytes: u16, speed: u16, slot: &str, bank: &str) -> Vec<u8> {
        let mut bytes = vec![0_u8; 0x28];
        (bytes[0], bytes[1], bytes[0x12]) = (MEMORY_DEVICE, 0x28, 0x1a);
        bytes[8..10].copy_from_slice(&72_u16.to_le_bytes());
        bytes[0x0a..0x0c].copy_from_slice(&64_u16.to_le_bytes());
        bytes[0x0c..0x0e].copy_from_slice(&mebibytes.to_le_bytes());
        (bytes[0x10], bytes[0x11]) = (1, 2);
        bytes[0x15..0x17].copy_from_slice(&3200_u16.to_le_bytes());
        bytes[0x20..0x22].copy_from_slice(&speed.to_le_bytes());
        bytes.extend([slot.as_bytes(), b"\0", bank.as_bytes(), b"\0\0"].concat());
        bytes
    }

    #[test]
    fn modules_are_read_and_empty_slots_are_not() {
        let tables = [
            // A structure of another kind, without strings.
            vec![16, 4, 0, 0, 0, 0],
            device(16384, 2933, "DIMM 0", "P0 CHANNEL A"),
            device(0, 0, "DIMM 0", "P0 CHANNEL B"),
            device(16384, 0, "DIMM 0", "P0 CHANNEL C"),
            vec![END, 4, 0, 0, 0, 0],
            device(1, 1, "behind", "the end"),
        ];
        let found = modules(&tables.concat());
        assert_eq!(found.len(), 2);
        let first = MemoryModule {
            place: "P0 CHANNEL A DIMM 0".to_owned(),
            size_bytes: Bytes(16 << 30),
            kind: Some("DDR4".to_owned()),
            megatransfers_per_s: Some(2933),
            width_bytes: Some(8),
        };
        assert_eq!(found[0], first);
        assert_eq!(found[1].megatransfers_per_s, Some(3200), "the maximum, if the configured speed is unknown");
        assert_eq!(channels(&found), Some(2));
    }

    #[test]
    fn truncated_tables_have_the_modules_before_their_end() {
        let whole = [device(1024, 3200, "A", "B"), device(2048, 3200, "C", "D")].concat();
        for end in 0..whole.len() {
            assert_eq!(modules(&whole[..end]).len(), usize::from(end >= whole.len() / 2), "{end}");
        }
        assert_eq!(modules(&whole).len(), 2);
        assert_eq!(modules(&[17, 0, 0, 0, 0, 0]), []);
    }

    #[test]
    fn channels_are_reported_by_the_names_of_slots() {
        let count = |places: &[&str]| {
            let module = |place: &&str| MemoryModule {
                place: (*place).to_owned(),
                size_bytes: Bytes(1),
                kind: None,
                megatransfers_per_s: None,
                width_bytes: None,
            };
            channels(&places.iter().map(module).collect::<Vec<_>>())
        };
        assert_eq!(count(&["BANK 0 Controller0-ChannelA-DIMM0", "BANK 0 Controller0-ChannelB-DIMM0"]), Some(2));
        assert_eq!(count(&["DIMM_A1", "DIMM_A2", "DIMM_B1", "DIMM_B2"]), Some(2));
        assert_eq!(count(&["CPU0_DIMM_A1", "CPU1_DIMM_A1"]), Some(2));
        assert_eq!(count(&["P0 CHANNEL A DIMM 0", "P0 CHANNEL A DIMM 1"]), Some(1));
        assert_eq!(count(&["DIMM 0", "DIMM 1"]), None);
        assert_eq!(count(&["RAM slot"]), Some(1));
        assert_eq!(count(&[]), None);
    }
}
