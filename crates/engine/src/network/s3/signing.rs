//! Signatures of S3's requests: AWS Signature Version 4 in the header `Authorization`, over everything but the data. Source: "Authenticating
//! Requests: Using the Authorization Header" of Amazon's S3 API reference.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The hash of data that is not part of the signature.
pub(super) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// Who signs, and for which region.
#[derive(Clone)]
pub(super) struct Signer {
    pub(super) access_key: String,
    pub(super) secret: String,
    /// Of temporary credentials; empty for none.
    pub(super) token: String,
    pub(super) region: String,
    /// The key of a day, which is derived once.
    day: String,
    key: [u8; 32],
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Signer").field("region", &self.region).finish_non_exhaustive()
    }
}

impl Signer {
    pub(super) fn new(access_key: &str, secret: &str, token: &str, region: &str) -> Signer {
        let [access_key, secret, token, region] = [access_key, secret, token, region].map(str::to_owned);
        Signer { access_key, secret, token, region, day: String::new(), key: [0; 32] }
    }

    /// Appends the lines of a request's header that sign it. `path` and `query` are encoded, `at` is like `20130524T000000Z`.
    pub(super) fn sign(&mut self, method: &str, path: &str, query: &str, host: &str, at: &str, head: &mut String) {
        let day = &at[..8];
        if self.day != day {
            let first = hmac(format!("AWS4{}", self.secret).as_bytes(), day.as_bytes());
            let of_service = hmac(&hmac(&first, self.region.as_bytes()), b"s3");
            (self.key, self.day) = (hmac(&of_service, b"aws4_request"), day.to_owned());
        }
        let (mut token, mut names) = (String::new(), "host;x-amz-content-sha256;x-amz-date".to_owned());
        if !self.token.is_empty() {
            token = format!("x-amz-security-token:{}\n", self.token);
            names += ";x-amz-security-token";
        }
        let canonical = format!(
            "{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:{UNSIGNED}\nx-amz-date:{at}\n{token}\n{names}\n{UNSIGNED}"
        );
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let hashed = hex(&Sha256::digest(canonical.as_bytes()));
        let signature = hex(&hmac(&self.key, format!("AWS4-HMAC-SHA256\n{at}\n{scope}\n{hashed}").as_bytes()));
        let _ = write!(
            head,
            "x-amz-content-sha256: {UNSIGNED}\r\nx-amz-date: {at}\r\n{}Authorization: AWS4-HMAC-SHA256 Credential={}/{scope}, \
             SignedHeaders={names}, Signature={signature}\r\n",
            if token.is_empty() { String::new() } else { format!("x-amz-security-token: {}\r\n", self.token) },
            self.access_key,
        );
    }
}

fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(text);
    mac.finalize().into_bytes().into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Percent-encoding of everything but letters, digits and `-._~`, and of `/` unless it is kept.
pub(super) fn encoded(text: &str, keeps_slash: bool) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            b'/' if keeps_slash => encoded.push('/'),
            other => drop(write!(encoded, "%{other:02X}")),
        }
        encoded
    })
}
