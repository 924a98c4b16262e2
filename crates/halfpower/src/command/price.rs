//! The options for the price of the storage.

use crate::text::UsageError;
use clap::Args;
use halfpower_model::{Bytes, Offer, Price};

/// The price of the storage.
#[derive(Clone, Debug, Args)]
pub(crate) struct PriceArguments {
    /// Price of all targets together, like 199USD or 189.90EUR; a number alone is US dollars
    ///
    /// Used for the price per KAPS and MAPS (kilobyte and megabyte accesses per second). Replaces the price in a study.
    #[arg(long, value_name = "PRICE", help_heading = "Price")]
    price: Option<Price>,
    /// Capacity of all targets together, for the price per MB [default: the size of the block devices]
    #[arg(long, value_name = "SIZE", help_heading = "Price")]
    capacity: Option<Bytes>,
}

impl PriceArguments {
    /// The offer of the command line, over a known one.
    ///
    /// # Errors
    /// If there is a capacity without a price.
    pub(crate) fn over(&self, known: Option<Offer>) -> Result<Option<Offer>, UsageError> {
        let of_price = |price| Offer { price, capacity: known.and_then(|known| known.capacity) };
        let offer = self.price.map(of_price).or(known);
        match (offer, self.capacity) {
            (None, Some(_)) => Err(UsageError("--capacity needs a price; give --price as well".to_owned())),
            (_, Some(Bytes(0))) => Err(UsageError("--capacity 0 holds nothing; give more".to_owned())),
            (offer, capacity) => Ok(offer.map(|offer| Offer { capacity: capacity.or(offer.capacity), ..offer })),
        }
    }
}
