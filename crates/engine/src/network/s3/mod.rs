//! S3, the protocol of object stores, over HTTP/1.1: one request at a time on each connection.
//!
//! `s3://BUCKET/KEY` is an object, of which parts are read. `s3://BUCKET/KEY?upload` is an object that is written, a part a request.
//! `s3://BUCKET/PREFIX/` is a row of objects of one request each, PREFIX/0000000000 and so on: a read gets one, a write puts one, a
//! trim deletes one. Over TLS where the endpoint is https. Not spoken: redirects. Source: Amazon's S3 API reference.

mod http;
pub(crate) mod objects;
mod signing;
#[cfg(test)]
mod tests;
pub(crate) mod upload;

use super::name::{HTTP_PORT, HTTPS_PORT};
use super::{Answer, Name, Place, Protocol, Refusal, Socket, Volume};
use crate::personality::interface::{Granted, Transfer};
use crate::target::Access;
use halfpower_model::stream::RequestKind;
use halfpower_model::{Bytes, Operation, Personality, Server, Verify, Workload};
use http::Head;
use signing::{Signer, encoded};
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::time::SystemTime;

/// The longest answer with text, a list of a thousand objects.
const TEXT_MAX: usize = 4 << 20;
/// Objects in a list, and the most lists of a row.
const LISTED: usize = 1000;
const LISTS_MAX: usize = 1000;
/// A row without objects, and an upload, can become as long.
const ROW_MAX: Bytes = Bytes(1 << 40);
/// The largest object that one request puts.
const PUT_MAX: Bytes = Bytes(5 << 30);
/// Maximum number of parts of an upload.
const PARTS_MAX: u64 = 10_000;
/// Digits of an object's number.
const DIGITS: usize = 10;

/// A connection to an object or a row of objects.
#[derive(Debug)]
pub(crate) struct S3 {
    host: String,
    signer: Option<Signer>,
    /// `/BUCKET/KEY`, encoded; of a row its beginning.
    path: String,
    /// Size of the objects of a row, 0 where it is not known; none of an object.
    each: Option<u64>,
    /// The number of an upload, encoded, empty before it has begun; none of anything else.
    upload: Option<String>,
    /// The size of its parts.
    part: u64,
    /// The request without an answer: its tag and its kind.
    asked: Option<(u32, RequestKind)>,
    /// The first byte that it asks for, of a part of an object.
    first: Option<u64>,
    /// The second of the last request, and its time in words.
    now: (u64, String),
    /// A request, as it is put together.
    text: String,
    cause: Option<String>,
    closes: bool,
}

impl Protocol for S3 {
    fn connect(name: &Name, access: Access) -> io::Result<(Self, Socket, Volume)> {
        let (mut s3, socket) = S3::again(name, access)?;
        let (bucket, key) = name.export.split_once('/').unwrap_or((&name.export, ""));
        let (login, is_row) = (&name.login, s3.each.is_some());
        let examined = match () {
            () if is_row => s3.row(&socket, bucket, key, access == Access::Read),
            () if s3.upload.is_some() => Ok((ROW_MAX, None)),
            () => s3.object(&socket).map(|size| (size, None)),
        };
        let (size, each) = examined.map_err(|error| match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof if !name.is_encrypted => io::Error::other(
                "the server closed the connection; if it speaks HTTPS, the endpoint has to begin with https://",
            ),
            _ => error,
        })?;
        if is_row && access == Access::Read && size.0 == 0 {
            return Err(io::Error::other(format!(
                "there are no objects of ours; write them first: halfpower io {} --op write --request-size 4MiB --size 1GiB \
                 --bytes 1GiB --overwrite",
                name.text
            )));
        }
        let is_written = is_row || s3.upload.is_some();
        let kind = if is_row { "objects" } else { "parts of an object" };
        let who = if login.user.is_empty() { "unsigned requests" } else { "signed requests" };
        let volume = Volume {
            size: if size.0 == 0 && is_row { ROW_MAX } else { size },
            alignment: each.unwrap_or(Bytes(1)),
            server: Server {
                read_only: (!is_written).then(|| {
                    "an object is only read in part; to write, name a row of objects, s3://BUCKET/PREFIX/, or an upload in \
                     parts, s3://BUCKET/KEY?upload"
                        .to_owned()
                }),
                protocol: Personality::S3,
                address: socket.address.clone(),
                agreed: [kind, who, "HTTP/1.1", "TCP_NODELAY"].into_iter().chain(socket.encryption()).map(str::to_owned).collect(),
                request_max_bytes: each.unwrap_or(PUT_MAX),
                round_trip: socket.round_trip,
                segment_max_bytes: socket.segment_max,
            },
        };
        s3.each = is_row.then_some(each.map_or(0, |each| each.0));
        Ok((s3, socket, volume))
    }

    /// Without a look at the objects, of which a list may be long.
    fn again(name: &Name, _: Access) -> io::Result<(Self, Socket)> {
        let Place::Tcp { host, port } = &name.place else { return Err(io::Error::other("S3 is spoken over TCP")) };
        let (mut socket, login) = (Socket::connect(&name.place)?, &name.login);
        if name.is_encrypted {
            socket = socket.encrypted(host)?;
        }
        let usual = if name.is_encrypted { HTTPS_PORT } else { HTTP_PORT };
        let signer = (!login.user.is_empty())
            .then(|| Signer::new(&login.user, &login.password, &login.token, login.domain.as_str()));
        let s3 = S3 {
            host: if *port == usual { host.clone() } else { format!("{host}:{port}") },
            signer,
            path: format!("/{}", encoded(&name.export, true)),
            each: name.export.ends_with('/').then_some(0),
            upload: name.upload.as_deref().map(|number| encoded(number, false)),
            part: 0,
            asked: None,
            now: (u64::MAX, String::new()),
            text: String::new(),
            cause: None,
            closes: false,
            first: None,
        };
        Ok((s3, socket))
    }

    fn connections(workload: &Workload) -> u32 {
        workload.depth
    }

    fn accept(&mut self, _: &Socket, workload: &Workload) -> io::Result<Granted> {
        let refuse = |message: String| Err(io::Error::other(message));
        if workload.durability.every().is_some() || workload.operation.has(RequestKind::Flush) {
            return refuse("an object is stored when the server answers; leave --durability out".to_owned());
        }
        let size = workload.request_size.0;
        let are_whole = workload.offset.0.is_multiple_of(size) && workload.step().0.is_multiple_of(size);
        if (self.each.is_some() || self.upload.is_some()) && !(workload.sizes.is_empty() && are_whole) {
            let what = if self.upload.is_some() { "a part" } else { "an object" };
            return refuse(format!("a request is {what}; use one --request-size, and offsets in multiples of it"));
        }
        if let Some(each) = &mut self.each {
            if *each > 0 && *each != size {
                return refuse(format!(
                    "the objects there have {}; use that as --request-size, or another name",
                    Bytes(*each)
                ));
            }
            *each = size;
        }
        if self.upload.is_some() {
            let refused = match () {
                () if workload.operation != Operation::Write => "is only written; read the object without ?upload",
                () if workload.part_of.is_some() => "is of one process; use {rank} in its name",
                () if workload.verify == Verify::ReadBack => "cannot be read; leave --verify out",
                () => "",
            };
            if !refused.is_empty() {
                return refuse(format!("an upload {refused}"));
            }
            if workload.span.0.div_ceil(size) > PARTS_MAX {
                return refuse(format!(
                    "an upload has at most {PARTS_MAX} parts; use a larger --request-size, or a smaller --size"
                ));
            }
            self.part = size;
        }
        Ok(Granted { obtained: vec!["HTTP/1.1".to_owned()], refused: Vec::new() })
    }

    fn can_ask(&self, _: &Transfer) -> bool {
        self.asked.is_none()
    }

    fn ask(&mut self, transfer: &Transfer, head: &mut Vec<u8>) -> Result<(), Refusal> {
        let &Transfer { tag, length, offset, kind, .. } = transfer;
        if self.closes {
            let cause = "the server limits the requests of a connection; raise its limit (nginx: keepalive_requests)"
                .to_owned();
            return Err(Refusal { errno: libc::ECONNRESET, cause });
        }
        let method = match (kind, self.each.is_some(), self.upload.is_some()) {
            (RequestKind::Read, _, false) => "GET",
            (RequestKind::Write, true, _) | (RequestKind::Write, _, true) => "PUT",
            (RequestKind::Trim, true, _) => "DELETE",
            _ => return Err(Refusal { errno: libc::EOPNOTSUPP, cause: "an object is only read in part".to_owned() }),
        };
        let (mut path, mut query, mut more) = (self.path.clone(), String::new(), String::new());
        self.first = None;
        match self.each {
            Some(each) => drop(write!(path, "{:0DIGITS$}", offset / each.max(1))),
            None if self.upload.is_some() => self.part(offset / self.part.max(1) + 1, &mut query),
            None => {
                self.first = Some(offset);
                let _ = write!(more, "Range: bytes={offset}-{}\r\n", offset + u64::from(length).max(1) - 1);
            }
        }
        if kind == RequestKind::Write {
            let _ = write!(more, "Content-Length: {length}\r\n");
        }
        self.request(method, &path, &query, &more);
        head.extend(self.text.as_bytes());
        self.asked = Some((tag, kind));
        Ok(())
    }

    fn answer(&mut self, bytes: &[u8]) -> Result<Option<Answer>, String> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let Some(head) = http::head(bytes)? else { return Ok(None) };
        let Head { bytes: length, status, .. } = head;
        if status < 200 {
            return Ok(Some(Answer::Interim(length)));
        }
        let (tag, kind) = self.asked.ok_or("it answered a request that was not sent")?;
        let errno = http::errno_of(status);
        if errno == 0 && kind == RequestKind::Read {
            if self.first.zip(head.first).is_some_and(|(asked, sent)| asked != sent) {
                return Err("it sends another part of the object than was asked for".to_owned());
            }
            let moved = head.length.filter(|_| !head.is_chunked).ok_or("it does not say how long an object is")?;
            let moved = u32::try_from(moved).map_err(|_| "it sends more than was asked for")?;
            (self.asked, self.closes) = (None, head.closes);
            return Ok(Some(Answer::Final { length, tag: tag.into(), errno, moved: Some(moved) }));
        }
        let Some((explanation, length)) = http::explained(&head, bytes)? else { return Ok(None) };
        if errno != 0 {
            self.cause = Some(format!("the server refused: {explanation}"));
        }
        (self.asked, self.closes) = (None, head.closes);
        Ok(Some(Answer::Final { length, tag: tag.into(), errno, moved: None }))
    }

    fn cause(&mut self) -> Option<String> {
        self.cause.take()
    }

    fn farewell(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Receives more of an answer.
fn receive_more(socket: &Socket, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut some = [0; 8192];
    let count = socket.receive_some(&mut some)?;
    bytes.extend(&some[..count]);
    Ok(())
}

impl S3 {
    /// Puts a request without data together. `more` are further lines of its header.
    fn request(&mut self, method: &str, path: &str, query: &str, more: &str) {
        let second = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.now.0 != second {
            let at = jiff::Timestamp::from_second(second as i64).unwrap_or_default();
            self.now = (second, at.strftime("%Y%m%dT%H%M%SZ").to_string());
        }
        let mark = if query.is_empty() { "" } else { "?" };
        self.text.clear();
        let _ = write!(self.text, "{method} {path}{mark}{query} HTTP/1.1\r\nHost: {}\r\n{more}", self.host);
        if let Some(signer) = &mut self.signer {
            signer.sign(method, path, query, &self.host, &self.now.1, &mut self.text);
        }
        self.text.push_str("\r\n");
    }

    /// Puts a request with its body together.
    fn message(&mut self, method: &str, path: &str, query: &str, body: &[u8], message: &mut Vec<u8>) {
        let has_body = method == "POST" || method == "PUT";
        let length = if has_body { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
        self.request(method, path, query, &length);
        message.clear();
        message.extend(self.text.as_bytes());
        message.extend(body);
    }

    /// Sends a request with a body and receives its answer; the body of one to HEAD is left out.
    fn call(
        &mut self,
        socket: &Socket,
        method: &str,
        path: &str,
        query: &str,
        body: &str,
    ) -> io::Result<(Head, String)> {
        let mut bytes = Vec::new();
        self.message(method, path, query, body.as_bytes(), &mut bytes);
        socket.send_all(&bytes)?;
        bytes.clear();
        let (head, body) = loop {
            receive_more(socket, &mut bytes)?;
            let Some(head) = http::head(&bytes).map_err(io::Error::other)? else { continue };
            if method == "HEAD" {
                break (head, Vec::new());
            }
            if let Some((body, _)) = http::body(&head, &bytes, TEXT_MAX).map_err(io::Error::other)? {
                break (head, body);
            }
        };
        self.closes = head.closes;
        let errno = http::errno_of(head.status);
        if errno == 0 {
            return Ok((head, String::from_utf8_lossy(&body).into_owned()));
        }
        let said =
            http::explained(&Head { bytes: 0, length: Some(body.len() as u64), is_chunked: false, ..head }, &body);
        let said = said.ok().flatten().map(|(said, _)| said).filter(|said| !said.starts_with("HTTP"));
        let said = said.map_or_else(String::new, |said| format!(" ({said})"));
        let why = match (head.status, self.signer.is_some()) {
            (403, false) => "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            (403, true) => "; check the access key, its secret and the region",
            (404, _) => "; check the bucket and the name",
            (400, _) if said.contains("EntityTooSmall") => {
                "; a part, but the last, has 5 MiB at least: use a larger --request-size"
            }
            (301 | 307 | 308, _) => "; name the endpoint of the bucket's region in AWS_ENDPOINT_URL",
            _ => "",
        };
        Err(io::Error::other(format!("the server answered with HTTP status {}{said}{why}", head.status)))
    }

    /// The size of an object.
    fn object(&mut self, socket: &Socket) -> io::Result<Bytes> {
        let path = self.path.clone();
        let (head, _) = self.call(socket, "HEAD", &path, "", "")?;
        head.length.map(Bytes).ok_or_else(|| io::Error::other("the server does not say how long the object is"))
    }

    /// A list of objects, from a token on, empty for the first; it becomes that of the next, empty for none.
    fn list(&mut self, socket: &Socket, bucket: &str, prefix: &str, token: &mut String) -> io::Result<String> {
        let from = match token.as_str() {
            "" => String::new(),
            token => format!("continuation-token={}&", encoded(token, false)),
        };
        let query = format!("{from}list-type=2&max-keys={LISTED}&prefix={}", encoded(prefix, false));
        let (_, text) = self.call(socket, "GET", &format!("/{}", encoded(bucket, false)), &query, "")?;
        *token = http::texts(&text, "NextContinuationToken").next().unwrap_or_default().to_owned();
        Ok(text)
    }

    /// The size of a row of objects, and of each; of no object, nothing.
    fn row(
        &mut self,
        socket: &Socket,
        bucket: &str,
        prefix: &str,
        is_whole: bool,
    ) -> io::Result<(Bytes, Option<Bytes>)> {
        let (mut count, mut each, mut token) = (0_u64, None, String::new());
        for _ in 0..LISTS_MAX {
            let text = self.list(socket, bucket, prefix, &mut token)?;
            for object in http::texts(&text, "Contents") {
                let of = |tag: &str| http::texts(object, tag).next().unwrap_or_default();
                let name = of("Key").rsplit('/').next().unwrap_or_default();
                let number: Option<u64> = name.parse().ok().filter(|_| name.len() == DIGITS);
                let size: u64 =
                    of("Size").parse().map_err(|_| io::Error::other("an object of the list has no size"))?;
                let odd = |what: &str| Err(io::Error::other(format!("{what} name another prefix")));
                match number {
                    None => return odd("there are other objects than Halfpower's;"),
                    Some(number) if number != count && is_whole => {
                        return odd("objects of the row are missing; write it again, delete the rest (--op trim), or");
                    }
                    Some(_) if *each.get_or_insert(size) != size => {
                        return odd("the objects there have several sizes;");
                    }
                    Some(number) => count = number + 1,
                }
            }
            if token.is_empty() {
                return Ok((Bytes(count.saturating_mul(each.unwrap_or(0))), each.map(Bytes)));
            }
        }
        Err(io::Error::other("there are more than a million objects; name another prefix"))
    }
}
