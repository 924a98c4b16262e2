//! Signatures against Amazon's published example, answers in every cut, and what is none.

use super::http::{Head, body, explained, head, texts};
use super::signing::{Signer, encoded};

#[test]
fn a_request_is_signed_like_any_other_client_does() {
    let mut signer = Signer::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", "us-east-1");
    let (mut first, mut again, mut next) = (String::new(), String::new(), String::new());
    signer.sign("GET", "/b/a", "", "h", "20130524T000000Z", &mut first);
    signer.sign("GET", "/b/a", "", "h", "20130524T000000Z", &mut again);
    signer.sign("GET", "/b/a", "", "h", "20130525T000000Z", &mut next);
    assert_eq!(first, again);
    assert!(first.contains("Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;"));
    assert!(next.contains("/20130525/") && !first.contains("wJalr") && !format!("{signer:?}").contains("wJalr"));
    assert_eq!((encoded("a b/ü", true), encoded("a/b", false)), ("a%20b/%C3%BC".to_owned(), "a%2Fb".to_owned()));
}

#[test]
fn an_answer_is_read_in_every_cut() {
    let text =
        b"HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\nContent-Range: bytes 7-9/90\r\nETag: \"x\"\r\n\r\nabc";
    for cut in 0..text.len() {
        let read = head(&text[..cut]).unwrap();
        assert_eq!(read.is_some(), cut >= text.len() - 3, "{cut}");
    }
    let read = head(text).unwrap().unwrap();
    let (bytes, length, first) = (text.len() - 3, Some(3), Some(7));
    assert_eq!(read, Head { bytes, status: 206, length, is_chunked: false, first, closes: false });
    assert_eq!(body(&read, text, 3), Ok(Some((b"abc".to_vec(), text.len()))));
    assert!(body(&read, text, 2).is_err());
    let text = b"HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n1d\r\n<Error><Code>NoSuchKey</Code>\r\n8;x\r\n</Error>\r\n0\r\n\r\nHTTP";
    let read = head(text).unwrap().unwrap();
    for cut in read.bytes..text.len() - 4 {
        assert_eq!(explained(&read, &text[..cut]), Ok(None), "{cut}");
    }
    assert_eq!(explained(&read, text), Ok(Some(("NoSuchKey".to_owned(), text.len() - 4))));
    assert_eq!(texts("<a><b>1</b><b>2</b><b>", "b").collect::<Vec<_>>(), ["1", "2"]);
}

#[test]
fn what_is_no_answer_is_refused() {
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(5000));
    for text in [
        "SSH-2.0-OpenSSH",
        "HTTP/1.1 999 x\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        &endless,
    ] {
        assert!(head(text.as_bytes()).is_err(), "{text}");
    }
    let alert = head(b"\x15\x03\x01\x00\x02\x02\x50").unwrap_err();
    assert!(alert.starts_with("it speaks HTTPS"), "{alert}");
    for chunks in ["x\r\n\r\n", "fffffffffffffff0\r\n", "ffffffff\r\nabc"] {
        let text = format!("HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        let read = head(text.as_bytes()).unwrap().unwrap();
        assert!(body(&read, text.as_bytes(), 2048).is_err(), "{chunks}");
    }
}
