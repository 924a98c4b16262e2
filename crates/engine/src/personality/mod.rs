//! Personalities: ways to do I/O, behind one small trait. The worker's loop is compiled for each, without branches
//! on the personality.

#[cfg(test)]
mod conformance;
mod control;
mod device;
pub(crate) mod interface;
pub(crate) mod libaio;
pub(crate) mod mmap;
pub(crate) mod network;
pub(crate) mod null;
pub(crate) mod nvme;
pub(crate) mod plugin;
pub(crate) mod sg;
pub(crate) mod spread;
pub(crate) mod sync;
pub(crate) mod synchronous;
pub(crate) mod uring;
pub(crate) mod vectored;

use halfpower_model::Personality as Name;
use halfpower_model::environment::PersonalityFacts;
use interface::Personality;

/// Compiles `$body` for the type of each personality: the one place where names become types.
macro_rules! for_personality {
    ($name:expr, $type:ident => $body:expr) => {
        $crate::personality::for_personality!(@each $name, $type => $body,
            Sync: synchronous::OneAtATime<$crate::personality::sync::Sync>,
            Vectored: synchronous::OneAtATime<$crate::personality::vectored::Vectored>,
            Mmap: synchronous::OneAtATime<$crate::personality::mmap::Mmap>,
            Libaio: libaio::Libaio,
            IoUring: uring::Uring,
            Sg: synchronous::OneAtATime<$crate::personality::sg::Sg>,
            Nvme: nvme::Nvme,
            Nbd: network::Network<$crate::network::nbd::Nbd>,
            Smb: network::Network<$crate::network::smb::Smb>,
            S3: network::Network<$crate::network::s3::S3>,
            Null: null::Null,
            Plugin: plugin::Plugin,
        )
    };
    (@each $name:expr, $type:ident => $body:expr, $($word:ident: $($path:ident)::+ $(<$inner:path>)?,)+) => {
        match $name {
            $(halfpower_model::Personality::$word => {
                type $type = $crate::personality::$($path)::+ $(<$inner>)?;
                $body
            })+
        }
    };
}
pub(crate) use for_personality;

/// Every personality of the engine, and why it is unavailable here.
pub fn personalities() -> Vec<PersonalityFacts> {
    Name::ALL
        .iter()
        .map(|name| PersonalityFacts {
            personality: *name,
            unavailable: for_personality!(*name, P => <P as Personality>::unavailable()),
            stands_for: None,
        })
        .collect()
}
