//! NTLMv2, the login of servers without Kerberos. Source: MS-NLMP 3.3.2, and 4.2.4 for the test.

use crate::network::credentials::Login;
use hmac::{Hmac, KeyInit, Mac};
use md4::{Digest, Md4};
use md5::Md5;

const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// Unicode, target name, NTLM, always sign, extended session security, target information, 128 bits.
const FLAGS: u32 = 0x1 | 0x4 | 0x200 | 0x8000 | 0x8_0000 | 0x80_0000 | 0x2000_0000;
const ANONYMOUS: u32 = 0x800;
/// The attribute of the target information with the server's time.
const TIMESTAMP: u16 = 7;
/// From 1601 to 1970, in units of 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;

/// The first message.
pub(super) fn negotiate() -> Vec<u8> {
    let mut message = SIGNATURE.to_vec();
    message.extend(1_u32.to_le_bytes());
    message.extend(FLAGS.to_le_bytes());
    message.extend([0; 16]);
    message
}

/// The answer to the server's challenge, and the session's key; none of a guest.
///
/// # Errors
/// If the challenge is none.
pub(super) fn authenticate(
    challenge: &[u8],
    login: &Login,
    random: [u8; 8],
    now: std::time::Duration,
) -> Result<(Vec<u8>, Option<[u8; 16]>), String> {
    let no_challenge = || "the server sent no challenge of NTLM".to_owned();
    let field = |at: usize| -> Option<&[u8]> {
        let length = u16::from_le_bytes(*challenge.get(at..)?.first_chunk()?);
        let from = u32::from_le_bytes(*challenge.get(at + 4..)?.first_chunk()?) as usize;
        challenge.get(from..from.checked_add(usize::from(length))?)
    };
    if !challenge.starts_with(SIGNATURE) || challenge.get(8..12) != Some(&2_u32.to_le_bytes()[..]) {
        return Err(no_challenge());
    }
    let server_challenge: &[u8; 8] = challenge.get(24..).and_then(<[u8]>::first_chunk).ok_or_else(no_challenge)?;
    if login.user.is_empty() {
        return Ok((message([&[0], &[], &[], &[]], FLAGS | ANONYMOUS), None));
    }
    let target = field(40).ok_or_else(no_challenge)?;
    let time = timestamp(target).unwrap_or_else(|| (EPOCH + (now.as_nanos() / 100) as u64).to_le_bytes());
    let (response, key) = response(login, server_challenge, random, time, target);
    let [domain, user] = [utf16(&login.domain), utf16(&login.user)];
    Ok((message([&[0; 24], &response, &domain, &user], FLAGS), Some(key)))
}

/// The response to a challenge, and the key that comes with it.
fn response(login: &Login, challenge: &[u8; 8], random: [u8; 8], time: [u8; 8], target: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let owner =
        hmac(&Md4::digest(utf16(&login.password)), &[&utf16(&login.user.to_uppercase()), &utf16(&login.domain)]);
    let blob = [&[1, 1, 0, 0, 0, 0, 0, 0], &time[..], &random, &[0; 4], target, &[0; 4]].concat();
    let proof = hmac(&owner, &[challenge, &blob]);
    (([&proof[..], &blob]).concat(), hmac(&owner, &[&proof]))
}

/// The third message: LM response, NT response, domain, user.
fn message(parts: [&[u8]; 4], flags: u32) -> Vec<u8> {
    const HEAD: usize = 64;
    let mut head = [SIGNATURE, &3_u32.to_le_bytes()[..]].concat();
    let mut body = Vec::new();
    // Then workstation and session key, which are empty.
    for part in parts.into_iter().chain([&[][..], &[]]) {
        head.extend((part.len() as u16).to_le_bytes());
        head.extend((part.len() as u16).to_le_bytes());
        head.extend(((HEAD + body.len()) as u32).to_le_bytes());
        body.extend(part);
    }
    head.extend(flags.to_le_bytes());
    [head, body].concat()
}

/// The server's time in its target information.
fn timestamp(mut target: &[u8]) -> Option<[u8; 8]> {
    loop {
        let (kind, rest) = target.split_first_chunk::<2>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        match u16::from_le_bytes(*kind) {
            0 => return None,
            TIMESTAMP => return value.first_chunk().copied(),
            _ => target = rest,
        }
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 16] {
    let mut hmac = Hmac::<Md5>::new_from_slice(key).expect("any length is a key");
    parts.iter().for_each(|part| hmac.update(part));
    hmac.finalize().into_bytes().into()
}

pub(super) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specified() -> (Login, [u8; 8], Vec<u8>) {
        let login = Login {
            user: "User".to_owned(),
            domain: "Domain".to_owned(),
            password: "Password".to_owned(),
            ..Login::default()
        };
        let attribute = |kind: u16, text: &str| {
            let value = utf16(text);
            [&kind.to_le_bytes()[..], &(value.len() as u16).to_le_bytes(), &value].concat()
        };
        let target = [attribute(2, "Domain"), attribute(1, "Server"), vec![0; 4]].concat();
        (login, [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef], target)
    }

    #[test]
    fn the_response_is_the_one_of_the_specification() {
        let (login, challenge, target) = specified();
        let (response, key) = response(&login, &challenge, [0xaa; 8], [0; 8], &target);
        let proof = [0x68, 0xcd, 0x0a, 0xb8, 0x51, 0xe5, 0x1c, 0x96, 0xaa, 0xbc, 0x92, 0x7b, 0xeb, 0xef, 0x6a, 0x1c];
        assert_eq!(response[..16], proof);
        let expected = [0x8d, 0xe4, 0x0c, 0xca, 0xdb, 0xc1, 0x4a, 0x82, 0xf1, 0x5c, 0xb0, 0xad, 0x0d, 0xe9, 0x5c, 0xa3];
        assert_eq!(key, expected);
    }

    #[test]
    fn a_challenge_that_is_cut_anywhere_is_refused_or_answered() {
        let (login, challenge, target) = specified();
        let mut message = SIGNATURE.to_vec();
        message.extend(2_u32.to_le_bytes());
        message.extend([0; 12]);
        message.extend(challenge);
        message.extend([0; 8]);
        message.extend((target.len() as u16).to_le_bytes());
        message.extend((target.len() as u16).to_le_bytes());
        message.extend(48_u32.to_le_bytes());
        message.extend(&target);
        let answer = |message: &[u8]| authenticate(message, &login, [0; 8], std::time::Duration::ZERO);
        assert!(answer(&message).is_ok());
        for end in 0..message.len() {
            assert!(answer(&message[..end]).is_err(), "{end} bytes");
        }
        let guest = authenticate(&message, &Login::default(), [0; 8], std::time::Duration::ZERO).unwrap();
        assert_eq!(guest.1, None);
    }
}
