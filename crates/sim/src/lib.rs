//! The simulated testbed: machines on a virtual clock. Seeded, no globals, no `unsafe`.
//!
//! It is empty so far; `docs/ARCHITECTURE.md` says what belongs here.
