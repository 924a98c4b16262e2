//! Keys and signatures of SMB: derivation, HMAC-SHA256 (2.1), AES-128-CMAC (3.0 and later). Source: MS-SMB2 3.1.4.1 and 3.1.4.2.

use super::messages::{Dialect, SIGNATURE};
use aes::Aes128;
use cmac::Cmac;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};

/// The hash over the negotiation, which the keys of 3.1.1 depend on.
#[derive(Clone, Debug)]
pub(super) struct Preauthentication([u8; 64]);

impl Preauthentication {
    pub(super) fn new() -> Self {
        Preauthentication([0; 64])
    }

    /// Includes a message, without its frame.
    pub(super) fn include(&mut self, message: &[u8]) {
        let mut hash = Sha512::new();
        hash.update(self.0);
        hash.update(message);
        self.0.copy_from_slice(&hash.finalize());
    }
}

/// Signs messages of a session.
#[derive(Clone)]
pub(super) enum Signer {
    Hmac(Hmac<Sha256>),
    Cmac(Box<Cmac<Aes128>>),
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Signer")
    }
}

/// A signature that is being computed.
#[derive(Debug)]
pub(super) struct Signing(Signer);

impl Signer {
    /// By the key of a session.
    pub(super) fn new(dialect: Dialect, session_key: &[u8; 16], before: &Preauthentication) -> Signer {
        let derived = match dialect {
            Dialect::Smb21 => return Signer::Hmac(hmac_sha256(session_key)),
            Dialect::Smb30 | Dialect::Smb302 => derive(session_key, b"SMB2AESCMAC\0", b"SmbSign\0"),
            Dialect::Smb311 => derive(session_key, b"SMBSigningKey\0", &before.0),
        };
        Signer::Cmac(Box::new(Cmac::new(&derived.into())))
    }

    pub(super) fn begin(&self) -> Signing {
        Signing(self.clone())
    }

    /// The signature of a message, without its frame, as if its own were zeros.
    pub(super) fn sign(&self, message: &[u8], data: &[u8]) -> [u8; 16] {
        let mut signing = self.begin();
        signing.include(&message[..SIGNATURE.start]);
        signing.include(&[0; 16]);
        signing.include(&message[SIGNATURE.end..]);
        signing.include(data);
        signing.end()
    }
}

impl Signing {
    pub(super) fn include(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Signer::Hmac(hmac) => hmac.update(bytes),
            Signer::Cmac(cmac) => cmac.update(bytes),
        }
    }

    pub(super) fn end(self) -> [u8; 16] {
        let mut signature = [0; 16];
        match self.0 {
            Signer::Hmac(hmac) => signature.copy_from_slice(&hmac.finalize().into_bytes()[..16]),
            Signer::Cmac(cmac) => signature.copy_from_slice(&cmac.finalize().into_bytes()),
        }
        signature
    }
}

fn hmac_sha256(key: &[u8; 16]) -> Hmac<Sha256> {
    Hmac::<Sha256>::new_from_slice(key).expect("any length is a key")
}

/// SP800-108 in counter mode, for one block.
fn derive(key: &[u8; 16], label: &[u8], context: &[u8]) -> [u8; 16] {
    let mut hmac = hmac_sha256(key);
    hmac.update(&1_u32.to_be_bytes());
    hmac.update(label);
    hmac.update(&[0]);
    hmac.update(context);
    hmac.update(&128_u32.to_be_bytes());
    let mut derived = [0; 16];
    derived.copy_from_slice(&hmac.finalize().into_bytes()[..16]);
    derived
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        std::array::from_fn(|index| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap())
    }

    #[test]
    fn the_signing_key_of_smb_3_is_microsoft_s() {
        // "SMB 2 and SMB 3 security in Windows 10: the anatomy of signing and cryptographic keys", Microsoft open specifications
        // blog, 2017: its session of dialect 3.0.
        let session_key = bytes("7CD451825D0450D235424E44BA6E78CC");
        assert_eq!(derive(&session_key, b"SMB2AESCMAC\0", b"SmbSign\0"), bytes("0B7E9C5CAC36C0F6EA9AB275298CEDCE"));
    }

    #[test]
    fn a_cmac_is_the_one_of_rfc_4493() {
        let key: [u8; 16] = bytes("2b7e151628aed2a6abf7158809cf4f3c");
        let mut signing = Signing(Signer::Cmac(Box::new(Cmac::new(&key.into()))));
        signing.include(&bytes::<16>("6bc1bee22e409f96e93d7e117393172a"));
        assert_eq!(signing.end(), bytes("070a16b46b4d4144f79bdd9dd04a287c"));
    }
}
