//! The runner on a testbed that answers by rule: no storage, no time.
