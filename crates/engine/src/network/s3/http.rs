//! The start of an answer of HTTP/1.1, as far as an object store's needs it. Source: RFC 9112.

/// The longest start of an answer, and the longest explanation of an error.
pub(super) const HEAD_MAX: usize = 4096;
/// What a server may send on an error, at most.
const EXPLANATION_MAX: usize = 2048;

/// The start of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Its bytes, with the empty line.
    pub(super) bytes: usize,
    pub(super) status: u16,
    /// Of its body; none where the server sends it in chunks.
    pub(super) length: Option<u64>,
    pub(super) is_chunked: bool,
    /// The place in the object of the first byte, if the server says it.
    pub(super) first: Option<u64>,
    /// The server ends the connection after it.
    pub(super) closes: bool,
}

/// Reads it; none if `bytes` do not hold it yet.
///
/// # Errors
/// If it is none.
pub(super) fn head(bytes: &[u8]) -> Result<Option<Head>, String> {
    const END: &[u8] = b"\r\n\r\n";
    // The start of an alert (RFC 8446, section 5.1).
    const TLS_ALERT: &[u8] = &[0x15, 3];
    let begin = &bytes[..bytes.len().min(HEAD_MAX)];
    if begin.starts_with(TLS_ALERT) {
        return Err("it speaks HTTPS; the endpoint has to begin with https://".to_owned());
    }
    if !begin.starts_with(&b"HTTP/1."[..begin.len().min(7)]) {
        return Err("an answer does not begin with HTTP/1".to_owned());
    }
    let Some(end) = begin.windows(END.len()).position(|window| window == END) else {
        return if bytes.len() < HEAD_MAX { Ok(None) } else { Err("the header of an answer has no end".to_owned()) };
    };
    let text = std::str::from_utf8(&begin[..end]).map_err(|_| "the header of an answer is no text")?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status: u16 = status.filter(|status| (100..600).contains(status)).ok_or("an answer has no status")?;
    let (bytes, closes) = (end + END.len(), first.starts_with("HTTP/1.0"));
    let mut head = Head { bytes, status, length: None, is_chunked: false, first: None, closes };
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { return Err("a line of a header has no name".to_owned()) };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                let length = value.parse().ok().filter(|_| head.length.is_none());
                head.length = Some(length.ok_or("the length of an answer is none")?);
            }
            "transfer-encoding" => head.is_chunked = value.eq_ignore_ascii_case("chunked"),
            "content-range" => {
                let range = value.strip_prefix("bytes ").and_then(|range| range.split_once('-'));
                head.first = range.and_then(|(first, _)| first.parse().ok());
            }
            "connection" => head.closes = value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    Ok(Some(head))
}

/// The body behind a header and where it ends; none if `bytes`, which begin with the header, do not hold it yet.
///
/// # Errors
/// If it is longer than `most`, or the chunks are none.
pub(super) fn body(head: &Head, bytes: &[u8], most: usize) -> Result<Option<(Vec<u8>, usize)>, String> {
    let rest = &bytes[head.bytes..];
    if !head.is_chunked {
        let length = head.length.unwrap_or(0);
        let length = usize::try_from(length).ok().filter(|length| *length <= most);
        let length = length.ok_or_else(|| format!("the text of an answer has more than {most} bytes"))?;
        return Ok(rest.get(..length).map(|body| (body.to_vec(), head.bytes + length)));
    }
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Some(line) = rest[at..].windows(2).position(|two| two == b"\r\n") else {
            return if rest.len() - at < 64 { Ok(None) } else { Err("a chunk has no length".to_owned()) };
        };
        let size = std::str::from_utf8(&rest[at..at + line]).ok().and_then(|line| line.split(';').next());
        let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
        let size = size.filter(|size| *size <= most - body.len()).ok_or("a chunk has no length, or too large a one")?;
        at += line + 2;
        let Some(chunk) = rest.get(at..at + size + 2) else { return Ok(None) };
        at += size + 2;
        if size == 0 {
            return Ok(Some((body, head.bytes + at)));
        }
        body.extend(&chunk[..size]);
    }
}

/// The error of an answer and its explanation; none if the body is not there yet.
///
/// # Errors
/// As [`body`].
pub(super) fn explained(head: &Head, bytes: &[u8]) -> Result<Option<(String, usize)>, String> {
    let Some((body, end)) = body(head, bytes, EXPLANATION_MAX)? else { return Ok(None) };
    let body = String::from_utf8_lossy(&body);
    let of = |tag: &str| texts(&body, tag).next().unwrap_or_default().to_owned();
    let (code, message) = (of("Code"), of("Message"));
    let separator = if message.is_empty() { "" } else { ": " };
    let words: String =
        format!("{code}{separator}{message}").chars().filter(|letter| !letter.is_control()).take(200).collect();
    let known = if code.is_empty() { format!("HTTP status {}", head.status) } else { words };
    Ok(Some((known, end)))
}

/// The texts of the elements of a name, in XML without attributes.
pub(super) fn texts<'a>(xml: &'a str, tag: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = xml;
    std::iter::from_fn(move || {
        let begin = rest.find(&open)? + open.len();
        let end = begin + rest[begin..].find(&close)?;
        let text = &rest[begin..end];
        rest = &rest[end + close.len()..];
        Some(text)
    })
}

/// What a status says, as an error number.
pub(super) fn errno_of(status: u16) -> i32 {
    match status {
        200..300 => 0,
        401 | 403 => libc::EACCES,
        404 => libc::ENOENT,
        400 | 405 | 411 | 416 => libc::EINVAL,
        413 => libc::EFBIG,
        429 | 503 => libc::EBUSY,
        507 => libc::ENOSPC,
        _ => libc::EIO,
    }
}
