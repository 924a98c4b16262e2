//! The price of storage, given by the user.
//!
//! A number and the three letters of a currency; a number alone is US dollars, as in the studies. Currencies are not converted.

use crate::units::{Bytes, significant};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An amount of money; above zero.
///
/// In records and study files it is text, as on the command line: `199USD`, `189.90 EUR`, `199`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Price {
    /// The amount.
    pub amount: f64,
    /// The currency.
    pub currency: Currency,
}

/// A currency by its three letters (ISO 4217).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Currency([u8; 3]);

/// Price and capacity of storage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Price of all targets together.
    pub price: Price,
    /// Their capacity; none if not given.
    #[serde(default, rename = "capacity_bytes", skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
}

const MOST: f64 = 1e12;

impl FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no price; write one like 199USD or 189.90EUR, or 199 for US dollars");
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, letters) = (&trimmed[..end], trimmed[end..].trim());
        let amount: f64 = number.parse().map_err(|_| wrong())?;
        let letters = if letters.is_empty() { "USD".to_owned() } else { letters.to_ascii_uppercase() };
        let currency = Currency(letters.as_bytes().try_into().map_err(|_| wrong())?);
        if !currency.0.iter().all(u8::is_ascii_alphabetic) {
            return Err(wrong());
        }
        if amount <= 0.0 || amount >= MOST {
            let range = "give more than 0 and less than a million million";
            return Err(format!("at a price of `{text}` no figure can be worked out; {range}"));
        }
        Ok(Price { amount, currency })
    }
}

impl TryFrom<String> for Price {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Price> for String {
    fn from(price: Price) -> String {
        format!("{}{}", price.amount, price.currency)
    }
}

impl fmt::Display for Price {
    /// Three significant digits: `209 USD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", significant(self.amount), self.currency)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_and_written() {
        for (text, amount, shown) in [
            ("199", 199.0, "199 USD"),
            ("209USD", 209.0, "209 USD"),
            (" 189.90 eur ", 189.9, "190 EUR"),
            ("0.05CHF", 0.05, "0.05 CHF"),
        ] {
            let price: Price = text.parse().unwrap();
            assert_eq!((price.amount, price.to_string().as_str()), (amount, shown));
            assert_eq!(String::from(price).parse(), Ok(price), "in records as exactly");
        }
        let offer = Offer { price: "26EUR".parse().unwrap(), capacity: Some(Bytes(9)) };
        let record = serde_json::to_string(&offer).unwrap();
        assert_eq!(record, r#"{"price":"26EUR","capacity_bytes":9}"#);
        assert_eq!(serde_json::from_str::<Offer>(&record).unwrap(), offer);
    }

    #[test]
    fn what_is_no_price_says_so() {
        for text in ["", "cheap", "$199", "199$", "-3USD", "1.2.3", "199 EURO", "199€", "1e3"] {
            let error = text.parse::<Price>().unwrap_err();
            assert!(error.contains("write one like 199USD"), "{text}: {error}");
        }
        for text in ["0", "0.0EUR", "9999999999999"] {
            assert!(text.parse::<Price>().unwrap_err().contains("more than 0"), "{text}");
        }
    }
}
