//! Values of keys, as text.

use crate::content::Data;
use crate::units::{Bytes, Nanoseconds};
use crate::workload::{
    Among, Arrivals, BlockPhases, Buffering, CachePolicy, Closing, CpuAccounting, CpuList, Durability, FileState,
    Layout, Operation, Pattern, Personality, Rate, RingOptions, RwFlags, Settings, Sharing, Sizes, Verify, WorkerKind,
};

/// A value that a key can have.
pub(crate) trait Value {
    /// In a form that reads back as the same; none where there is none.
    fn exact(&self) -> Option<String>;

    /// For people.
    fn shown(&self) -> String {
        self.exact().unwrap_or_else(|| "none".to_owned())
    }

    /// The number that is bounded, if it is one.
    fn number(&self) -> Option<u64> {
        None
    }
}

macro_rules! by_display {
    ($($type:ty),+ $(,)?) => {
        $(impl Value for $type {
            fn exact(&self) -> Option<String> {
                Some(self.to_string()).filter(|text| !text.is_empty())
            }
        })+
    };
}

by_display!(
    Among,
    Arrivals,
    BlockPhases,
    Buffering,
    CachePolicy,
    Closing,
    CpuAccounting,
    Data,
    Durability,
    FileState,
    Layout,
    Operation,
    Pattern,
    Personality,
    Rate,
    RingOptions,
    RwFlags,
    Settings,
    Sharing,
    Sizes,
    Verify,
    WorkerKind,
);

macro_rules! numbers {
    ($($type:ty: $number:expr, $exact:expr;)+) => {
        $(impl Value for $type {
            fn exact(&self) -> Option<String> {
                Some($exact(*self))
            }

            fn shown(&self) -> String {
                self.to_string()
            }

            fn number(&self) -> Option<u64> {
                Some($number(*self))
            }
        })+
    };
}

numbers! {
    u32: u64::from, |number: u32| number.to_string();
    u64: u64::from, |number: u64| number.to_string();
    Bytes: |bytes: Bytes| bytes.0, Bytes::exactly;
    Nanoseconds: |time: Nanoseconds| time.0, Nanoseconds::exactly;
}

impl<T: Value> Value for Option<T> {
    fn exact(&self) -> Option<String> {
        self.as_ref().and_then(T::exact)
    }

    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), T::shown)
    }

    fn number(&self) -> Option<u64> {
        self.as_ref().and_then(T::number)
    }
}

impl Value for CpuList {
    fn exact(&self) -> Option<String> {
        self.0.exact()
    }
}

impl Value for Vec<u32> {
    fn exact(&self) -> Option<String> {
        let numbers: Vec<String> = self.iter().map(u32::to_string).collect();
        (!numbers.is_empty()).then(|| numbers.join(","))
    }
}
