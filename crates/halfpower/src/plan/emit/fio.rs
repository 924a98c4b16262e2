//! stub
use super::{EmitError, Emission};
pub(crate) fn fio(_: &Emission<'_>) -> Result<String, EmitError> { Err(EmitError::Nothing(String::new())) }
