//! The kernels: loops with the widest loads and stores of the CPU.
//!
//! On x86-64 they are assembly (AVX-512, AVX2 or SSE2), so that the compiler neither removes nor adds accesses; elsewhere
//! volatile accesses of 8 bytes. Their work can be verified: a read sums every word of every pass, a write stores the number of
//! the pass in every word, a copy leaves its source. Loads and stores alternate in groups of registers, as in likwid-bench
//! (`copy_avx`).

use halfpower_model::reading::{Kernel, Vectors};
use std::hint::black_box;
use std::ptr::{read_volatile, write_volatile};

/// Granule of working sets; half of it is a whole number of iterations of every loop.
pub const GRANULE: usize = 4096;

/// The widest vectors of this CPU.
pub(super) fn widest() -> Vectors {
    let forms = [Vectors::Avx512, Vectors::Avx2, Vectors::Sse2];
    forms.into_iter().find(|form| is_supported(*form)).unwrap_or(Vectors::Scalar)
}

/// Whether this CPU has the instructions of a form.
fn is_supported(vectors: Vectors) -> bool {
    match vectors {
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
        // Part of x86-64.
        Vectors::Sse2 => cfg!(target_arch = "x86_64"),
        form => form == Vectors::Scalar,
    }
}

/// The kernels for these vectors; plain accesses cannot bypass the caches.
pub(super) fn kernels(vectors: Vectors) -> impl Iterator<Item = Kernel> {
    let past = |kernel: &Kernel| matches!(kernel, Kernel::WriteNonTemporal | Kernel::CopyNonTemporal);
    Kernel::ALL.into_iter().filter(move |kernel| vectors != Vectors::Scalar || !past(kernel))
}

/// Runs a kernel over a working set, `passes` times. Gives the sum of all 64-bit words that a read read, modulo 2^64; else 0.
///
/// # Panics
/// If the memory is not aligned to [`GRANULE`] in size and address, or there are no passes.
pub(super) fn run(vectors: Vectors, kernel: Kernel, memory: &mut [u8], passes: u64) -> u64 {
    assert!(memory.len().is_multiple_of(GRANULE) && memory.as_ptr().addr().is_multiple_of(GRANULE));
    assert!(passes > 0 && !memory.is_empty());
    if kernel == Kernel::Memcpy {
        (0..passes).for_each(|_| copy_by_library(memory, memory.len() / 2));
        return 0;
    }
    assert!(is_supported(vectors), "this CPU has no {vectors:?}");
    match vectors {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the CPU has the form, and the slice is aligned and as long as it must be: all of it was asserted above.
        Vectors::Avx512 => unsafe { avx512::run(kernel, memory, passes) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the same.
        Vectors::Avx2 => unsafe { avx2::run(kernel, memory, passes) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the same.
        Vectors::Sse2 => unsafe { sse2::run(kernel, memory, passes) },
        _ => run_scalar(kernel, memory, passes),
    }
}

/// Copies `length` bytes from the first half to the second.
pub(super) fn copy_by_library(memory: &mut [u8], length: usize) {
    let (source, destination) = memory.split_at_mut(memory.len() / 2);
    assert!(length <= source.len());
    // SAFETY: two halves that do not overlap, each as long. Neither place nor length is known to the compiler.
    unsafe {
        let (to, from, length) = black_box((destination.as_mut_ptr(), source.as_ptr(), length));
        libc::memcpy(to.cast(), from.cast(), length);
    }
}

/// The kernels in one width. A turn moves 16 registers of reads or writes, and 2 times 8 of copies; 2048 bytes, the least
/// that a copy has as source, is a whole number of turns of each. The assembler writes out the lines between `.irp` and
/// `.endr` once for each register.
#[cfg(target_arch = "x86_64")]
macro_rules! vector_kernels {
    ($module:ident, $feature:literal, $width:literal, $register:literal, move: $move:literal, stream: $stream:literal, sum: $sum:literal,
     count: $count:literal, leave: $leave:literal) => {
        mod $module {
            use halfpower_model::reading::Kernel;
            use std::arch::asm;

            const ZEROS: [u64; 8] = [0; 8];
            const ONES: [u64; 8] = [1; 8];

            /// # Safety
            /// The CPU has these vectors; the memory is aligned to 4096 bytes and a multiple of them long.
            pub(super) unsafe fn run(kernel: Kernel, memory: &mut [u8], passes: u64) -> u64 {
                let middle = memory.len() / 2;
                let range = memory.as_mut_ptr_range();
                // SAFETY: the caller's promise; source and destination of a copy are the halves of the range.
                unsafe {
                    let half = range.start.add(middle);
                    match kernel {
                        Kernel::Read => return read(range.start, range.end, passes),
                        Kernel::Write => write(range.start, range.end, passes),
                        Kernel::WriteNonTemporal => write_past(range.start, range.end, passes),
                        Kernel::CopyNonTemporal => copy_past(range.start, half, passes),
                        Kernel::Copy | Kernel::Memcpy => copy(range.start, half, passes),
                    }
                }
                0
            }

            #[target_feature(enable = $feature)]
            unsafe fn read(start: *const u8, end: *const u8, passes: u64) -> u64 {
                let mut sums = [0_u64; $width];
                // SAFETY: loads from the range alone, and stores of 8 registers into `sums`, which has room for them.
                unsafe {
                    asm!(
                        ".irp r, 0, 1, 2, 3, 4, 5, 6, 7",
                        concat!($move, " ", $register, "\\r, [{zeros}]"),
                        ".endr",
                        "3:",
                        "mov {at}, {start}",
                        "2:",
                        ".irp r, 0, 1, 2, 3, 4, 5, 6, 7",
                        concat!($sum, " [{at} + ", $width, "*\\r]"),
                        ".endr",
                        ".irp r, 0, 1, 2, 3, 4, 5, 6, 7",
                        concat!($sum, " [{at} + ", $width, "*\\r + ", $width, "*8]"),
                        ".endr",
                        concat!("add {at}, ", $width, "*16"),
                        "cmp {at}, {end}",
                        "jb 2b",
                        "dec {passes}",
                        "jnz 3b",
                        ".irp r, 0, 1, 2, 3, 4, 5, 6, 7",
                        concat!($move, " [{sums} + ", $width, "*\\r], ", $register, "\\r"),
                        ".endr",
                        $leave,
                        at = out(reg) _, start = in(reg) start, end = in(reg) end,
                        passes = inout(reg) passes => _,
                        zeros = in(reg) ZEROS.as_ptr(), sums = in(reg) sums.as_mut_ptr(),
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                        out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                        // vzeroupper clears the upper halves of these as well.
                        out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                        out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                        options(nostack)
                    );
                }
                sums.iter().fold(0, |sum, word| sum.wrapping_add(*word))
            }

            vector_kernels!(@write write, $feature, $width, $register, $move, $move, $count, $leave, "");
            vector_kernels!(@write write_past, $feature, $width, $register, $move, $stream, $count, $leave, "sfence");
            vector_kernels!(@copy copy, $feature, $width, $register, $move, $move, $leave, "");
            vector_kernels!(@copy copy_past, $feature, $width, $register, $move, $stream, $leave, "sfence");
        }
    };
    (@write $name:ident, $feature:literal, $width:literal, $register:literal, $move:literal, $store:literal, $count:literal,
     $leave:literal, $fence:literal) => {
        #[target_feature(enable = $feature)]
        unsafe fn $name(start: *mut u8, end: *mut u8, passes: u64) {
            // SAFETY: stores into the range alone.
            unsafe {
                asm!(
                    concat!($move, " ", $register, "0, [{ones}]"),
                    concat!($move, " ", $register, "1, [{zeros}]"),
                    "3:",
                    $count,
                    "mov {at}, {start}",
                    "2:",
                    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                    concat!($store, " [{at} + ", $width, "*\\n], ", $register, "1"),
                    ".endr",
                    concat!("add {at}, ", $width, "*16"),
                    "cmp {at}, {end}",
                    "jb 2b",
                    "dec {passes}",
                    "jnz 3b",
                    $fence,
                    $leave,
                    at = out(reg) _, start = in(reg) start, end = in(reg) end,
                    passes = inout(reg) passes => _,
                    zeros = in(reg) ZEROS.as_ptr(), ones = in(reg) ONES.as_ptr(),
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    // vzeroupper clears the upper halves of these as well.
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack)
                );
            }
        }
    };
    (@copy $name:ident, $feature:literal, $width:literal, $register:literal, $move:literal, $store:literal, $leave:literal,
     $fence:literal) => {
        /// Copies the bytes between `source` and `destination` to `destination`.
        #[target_feature(enable = $feature)]
        unsafe fn $name(source: *const u8, destination: *mut u8, passes: u64) {
            // SAFETY: loads from the source and stores into the destination, as long as the source.
            unsafe {
                asm!(
                    "3:",
                    "mov {from}, {source}",
                    "mov {to}, {destination}",
                    "2:",
                    ".irp r, 0, 1, 2, 3, 4, 5, 6, 7",
                    concat!($move, " ", $register, "\\r, [{from} + ", $width, "*\\r]"),
                    ".endr",
                    ".irp r, 0, 1, 2, 3, 4, 5, 6, 7",
                    concat!($store, " [{to} + ", $width, "*\\r], ", $register, "\\r"),
                    ".endr",
                    ".irp r, 0, 1, 2, 3, 4, 5, 6, 7",
                    concat!($move, " ", $register, "\\r, [{from} + ", $width, "*\\r + ", $width, "*8]"),
                    ".endr",
                    ".irp r, 0, 1, 2, 3, 4, 5, 6, 7",
                    concat!($store, " [{to} + ", $width, "*\\r + ", $width, "*8], ", $register, "\\r"),
                    ".endr",
                    concat!("add {from}, ", $width, "*16"),
                    concat!("add {to}, ", $width, "*16"),
                    "cmp {from}, {destination}",
                    "jb 2b",
                    "dec {passes}",
                    "jnz 3b",
                    $fence,
                    $leave,
                    from = out(reg) _, to = out(reg) _, source = in(reg) source, destination = in(reg) destination,
                    passes = inout(reg) passes => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    // vzeroupper clears the upper halves of these as well.
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack)
                );
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vector_kernels!(avx512, "avx512f", 64, "zmm", move: "vmovdqu64", stream: "vmovntdq", sum: "vpaddq zmm\\r, zmm\\r,",
    count: "vpaddq zmm1, zmm1, zmm0", leave: "vzeroupper");
#[cfg(target_arch = "x86_64")]
vector_kernels!(avx2, "avx2", 32, "ymm", move: "vmovdqu", stream: "vmovntdq", sum: "vpaddq ymm\\r, ymm\\r,",
    count: "vpaddq ymm1, ymm1, ymm0", leave: "vzeroupper");
#[cfg(target_arch = "x86_64")]
vector_kernels!(sse2, "sse2", 16, "xmm", move: "movdqu", stream: "movntdq", sum: "paddq xmm\\r,",
    count: "paddq xmm1, xmm0", leave: "");

/// The kernels by volatile accesses of 16 words at a time, for other CPUs.
fn run_scalar(kernel: Kernel, memory: &mut [u8], passes: u64) -> u64 {
    // Aligned, as asserted, so nothing is left over at the ends.
    let turns = words_mut(memory).as_chunks_mut::<16>().0;
    let middle = turns.len() / 2;
    let mut sums = [0_u64; 16];
    for pass in 1..=passes {
        match kernel {
            Kernel::Read => turns.iter().for_each(|turn| {
                // SAFETY: a reference can be read.
                let read = |(sum, word): (&mut u64, &u64)| *sum = sum.wrapping_add(unsafe { read_volatile(word) });
                sums.iter_mut().zip(turn).for_each(read);
            }),
            Kernel::Write | Kernel::WriteNonTemporal => turns.iter_mut().flatten().for_each(|word| {
                // SAFETY: an exclusive reference can be written.
                unsafe { write_volatile(word, pass) };
            }),
            Kernel::Copy | Kernel::CopyNonTemporal | Kernel::Memcpy => {
                let (source, destination) = turns.split_at_mut(middle);
                source.iter().flatten().zip(destination.iter_mut().flatten()).for_each(|(from, to)| {
                    // SAFETY: references, of which the second is exclusive.
                    unsafe { write_volatile(to, read_volatile(from)) };
                });
            }
        }
    }
    sums.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// Fills a working set with distinct words, so that a wrong copy shows.
pub(super) fn fill(memory: &mut [u8]) {
    for (index, word) in memory.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    }
}

/// The words of a working set.
fn words(memory: &[u8]) -> impl Iterator<Item = u64> {
    memory.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word))
}

/// The words of a working set, mutable.
pub(super) fn words_mut(memory: &mut [u8]) -> &mut [u64] {
    // SAFETY: every pattern of bits is a u64.
    unsafe { memory.align_to_mut().1 }
}

/// The sum of all words, as one pass of a read must find it.
pub(super) fn sum(memory: &[u8]) -> u64 {
    words(memory).fold(0, u64::wrapping_add)
}

/// Whether a kernel has moved every byte of its working set. For a read the caller gives the expected sum.
pub(super) fn has_moved(kernel: Kernel, memory: &[u8], passes: u64, sum_before: u64, sum: u64) -> bool {
    let (source, destination) = memory.split_at(memory.len() / 2);
    match kernel {
        Kernel::Read => sum == sum_before.wrapping_mul(passes),
        Kernel::Write | Kernel::WriteNonTemporal => words(memory).all(|word| word == passes),
        Kernel::Copy | Kernel::CopyNonTemporal | Kernel::Memcpy => source == destination,
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffer::Buffer;
    use super::*;

    /// The vectors of this CPU.
    fn forms() -> Vec<Vectors> {
        let all = [Vectors::Scalar, Vectors::Sse2, Vectors::Avx2, Vectors::Avx512];
        let widest = all.iter().position(|form| *form == widest()).unwrap();
        all[..=widest].to_vec()
    }

    #[test]
    fn every_kernel_of_every_form_moves_every_byte_in_every_pass() {
        for (vectors, size, passes) in
            forms().into_iter().flat_map(|form| [(form, GRANULE, 1), (form, 3 * GRANULE, 2), (form, 64 << 10, 3)])
        {
            for kernel in kernels(vectors) {
                let mut buffer = Buffer::new(size + GRANULE).unwrap();
                let (memory, beyond) = buffer.bytes_mut().split_at_mut(size);
                fill(memory);
                fill(beyond);
                let (before, beyond_before) = (sum(memory), beyond.to_vec());
                let read = run(vectors, kernel, memory, passes);
                let name = format!("{vectors:?} {kernel} of {size}, {passes} passes");
                assert!(has_moved(kernel, memory, passes, before, read), "{name}");
                assert!(beyond == beyond_before, "{name} wrote beyond its working set");
                assert!(kernel == Kernel::Read || sum(memory) != before, "{name} left everything as it was");
            }
        }
    }

    #[test]
    fn a_kernel_that_left_something_out_is_found() {
        let mut buffer = Buffer::new(2 * GRANULE).unwrap();
        let memory = buffer.bytes_mut();
        fill(memory);
        let before = sum(memory);
        assert!(!has_moved(Kernel::Copy, memory, 1, before, 0));
        assert!(!has_moved(Kernel::Write, memory, 1, before, 0));
        assert!(!has_moved(Kernel::Read, memory, 3, before, before.wrapping_mul(2)));
        assert!(has_moved(Kernel::Read, memory, 3, before, before.wrapping_mul(3)));
    }
}
