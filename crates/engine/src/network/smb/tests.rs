//! Answers as a server sends them, right, wrong and cut. Whole conversations are tested with Samba, in `tests/`.

use super::*;
use halfpower_model::random::Random;

/// Asks for a transfer, whose answer is awaited.
fn asked(kind: RequestKind, length: u32) -> Smb {
    let mut smb = Smb { takes_large: true, credits: 100, ..Smb::new() };
    let memory = vec![0; length as usize].leak();
    let transfer = Transfer { tag: 5, length, offset: 4096, address: memory.as_mut_ptr(), target: 0, kind };
    let mut head = Vec::new();
    smb.ask(&transfer, &mut head).unwrap();
    let data = if kind == RequestKind::Write { length as usize } else { 0 };
    assert_eq!(frame_length(&head).unwrap(), Some(head.len() - FRAME + data));
    smb
}

/// An answer to request 0.
fn answer(command: u16, status: u32, body: &[u8]) -> Vec<u8> {
    let header = Header { command, status, credits: 3, flags: messages::RESPONSE, ..Header::default() };
    let mut bytes = vec![0; FRAME];
    bytes.extend(header.to_bytes());
    bytes.extend(body);
    frame(&mut bytes, 0);
    bytes
}

/// An answer to a read of so many bytes.
fn data(count: u32) -> Vec<u8> {
    let mut body = vec![17, 0, READ_DATA as u8, 0];
    body.extend(count.to_le_bytes());
    body.extend([0; 8]);
    body.extend(vec![7; count as usize]);
    answer(messages::READ, 0, &body)
}

#[test]
fn credits_are_taken_and_given_back() {
    let mut smb = asked(RequestKind::Read, 256 << 10);
    assert_eq!((smb.credits, smb.next_id), (96, 4));
    let pending = answer(messages::READ, messages::PENDING, &[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(smb.answer(&pending), Ok(Some(Answer::Interim(pending.len()))));
    assert_eq!(smb.credits, 99);
    let read = Answer::Final { length: FRAME + READ_DATA, tag: 5, errno: 0, moved: Some(9) };
    assert_eq!(smb.answer(&data(9)), Ok(Some(read)));
    assert_eq!(smb.credits, 102);
    smb.credits = 3;
    let more = Transfer {
        tag: 1,
        length: 256 << 10,
        offset: 0,
        address: std::ptr::null_mut(),
        target: 0,
        kind: RequestKind::Read,
    };
    assert!(!smb.can_ask(&more) && smb.can_ask(&Transfer { length: 192 << 10, ..more }));
}

#[test]
fn statuses_are_results() {
    let written = answer(messages::WRITE, 0, &[17, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let cases = [
        (RequestKind::Write, written, 0, Some(1024), None),
        (
            RequestKind::Read,
            answer(messages::READ, messages::END_OF_FILE, &[9, 0, 0, 0, 0, 0, 0, 0, 0]),
            0,
            Some(0),
            None,
        ),
        (RequestKind::Write, answer(messages::WRITE, 0xc000_007f, &[9; 9]), libc::ENOSPC, None, Some("full")),
        (RequestKind::Flush, answer(messages::FLUSH, 0, &[4, 0, 0, 0]), 0, None, None),
        (RequestKind::Flush, answer(messages::FLUSH, 0xc000_1234, &[9; 9]), libc::EIO, None, Some("0xc0001234")),
    ];
    for (kind, bytes, errno, moved, why) in cases {
        let mut smb = asked(kind, 4096);
        assert_eq!(smb.answer(&bytes), Ok(Some(Answer::Final { length: bytes.len(), tag: 5, errno, moved })));
        let cause = smb.cause();
        assert_eq!(cause.is_some(), why.is_some(), "{cause:?}");
        assert!(why.is_none_or(|why| cause.is_some_and(|cause| cause.contains(why))));
    }
}

#[test]
fn an_answer_that_is_cut_is_waited_for_and_none_that_is_damaged_is_believed() {
    let whole = data(100);
    for end in 0..FRAME + READ_DATA {
        assert_eq!(asked(RequestKind::Read, 4096).answer(&whole[..end]), Ok(None), "{end} bytes");
    }
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let mut bytes =
            if random.next_bits().is_multiple_of(2) { data(64) } else { answer(messages::READ, 0xc000_0022, &[9; 9]) };
        for _ in 0..1 + random.next_bits() % 4 {
            let at = (random.next_bits() % bytes.len() as u64) as usize;
            bytes[at] = random.next_bits() as u8;
        }
        bytes.truncate((random.next_bits() % (2 * bytes.len() as u64)) as usize);
        let mut smb = asked(RequestKind::Read, 4096);
        if let Ok(Some(Answer::Final { length, .. } | Answer::Interim(length))) = smb.answer(&bytes) {
            assert!(length <= bytes.len());
        }
    }
}

#[test]
fn signed_answers_are_checked_with_their_data() {
    let key = [3; 16];
    for dialect in [Dialect::Smb21, Dialect::Smb30, Dialect::Smb311] {
        let signer = Signer::new(dialect, &key, &Preauthentication::new());
        let sign = |mut bytes: Vec<u8>| {
            bytes[FRAME + 16] |= messages::SIGNED as u8;
            let signature = signer.sign(&bytes[FRAME..], &[]);
            bytes[FRAME..][SIGNATURE].copy_from_slice(&signature);
            bytes
        };
        let signing = |kind| Smb { signer: Some(signer.clone()), signs: true, ..asked(kind, 4096) };
        let (read, flush) = (sign(data(100)), sign(answer(messages::FLUSH, 0, &[4, 0, 0, 0])));
        let mut smb = signing(RequestKind::Read);
        assert!(smb.answer(&read).unwrap().is_some());
        assert_eq!(smb.arrived(&read[FRAME + READ_DATA..]), Ok(()));
        assert!(smb.answer(&read).unwrap().is_some());
        assert_eq!(smb.arrived(&[8; 100]), Err(WRONG_SIGNATURE.to_owned()), "other data");
        assert!(signing(RequestKind::Flush).answer(&flush).unwrap().is_some());
        let mut other = flush.clone();
        other[FRAME + HEADER_BYTES] ^= 1;
        assert_eq!(signing(RequestKind::Flush).answer(&other), Err(WRONG_SIGNATURE.to_owned()));
        let unsigned = answer(messages::FLUSH, 0, &[4, 0, 0, 0]);
        assert!(signing(RequestKind::Flush).answer(&unsigned).unwrap_err().contains("not signed"));
    }
}
