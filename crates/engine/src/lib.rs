//! The real testbed.
