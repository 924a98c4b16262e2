//! Uploads in parts. An object is begun before a sample, whose writes put its parts, and ended after it: put together if every part
//! is there, else given up, so that nothing stays that would be stored and paid for.

use super::http::texts;
use super::{Name, S3, Socket};
use crate::network::Protocol;
use crate::target::Access;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

/// Uploads that were begun. Those that are not ended are given up when dropped.
#[derive(Debug)]
pub(crate) struct Uploads {
    begun: Vec<Name>,
    parts: u64,
}

impl Uploads {
    /// Begins one for each name of an upload, each of so many parts, and puts its number into the name.
    ///
    /// # Errors
    /// The connection's, or the server's answer.
    pub(crate) fn begin<'a>(names: impl Iterator<Item = &'a mut Name>, parts: u64) -> io::Result<Uploads> {
        let mut uploads = Uploads { begun: Vec::new(), parts };
        for name in names {
            let Some(upload) = &mut name.upload else { continue };
            upload.clear();
            let (mut s3, socket) = S3::again(name, Access::Overwrite)?;
            let path = s3.path.clone();
            let (_, answer) = s3.call(&socket, "POST", &path, "uploads=", "")?;
            let number = texts(&answer, "UploadId").next().filter(|number| !number.is_empty());
            let number = number.ok_or_else(|| io::Error::other("the server began no upload"))?;
            name.upload = Some(number.to_owned());
            uploads.begun.push(name.clone());
        }
        Ok(uploads)
    }

    /// Puts the objects together of which all parts are there: what became of these, and of the others, in words.
    ///
    /// # Errors
    /// The connection's, or the server's answer.
    pub(crate) fn end(mut self) -> io::Result<(Vec<String>, Vec<String>)> {
        let (mut ended, mut given_up) = (Vec::new(), Vec::new());
        while let Some(name) = self.begun.last() {
            let (mut s3, socket) = S3::again(name, Access::Overwrite)?;
            let there = s3.parts(&socket)?;
            // The server may have closed that connection.
            let (mut s3, socket) = S3::again(name, Access::Overwrite)?;
            let (count, parts) = (there.len() as u64, self.parts);
            if count < parts || !there.keys().copied().eq(1..=count) {
                s3.give_up(&socket)?;
                given_up.push(format!("the upload was given up, because {count} of its {parts} parts were put"));
            } else {
                s3.put_together(&socket, &there)?;
                ended.push(format!("object put together of {count} parts"));
            }
            self.begun.pop();
        }
        Ok((ended, given_up))
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        for name in &self.begun {
            // A server that is gone forgets it by its own rules.
            let _ = S3::again(name, Access::Overwrite).and_then(|(mut s3, socket)| s3.give_up(&socket));
        }
    }
}

impl S3 {
    /// What names its upload in a query.
    fn upload_id(&self) -> String {
        format!("uploadId={}", self.upload.as_deref().unwrap_or_default())
    }

    /// The query of a part.
    pub(super) fn part(&self, number: u64, query: &mut String) {
        let _ = write!(query, "partNumber={number}&{}", self.upload_id());
    }

    /// The tags of the parts that are there, as the server wrote them.
    fn parts(&mut self, socket: &Socket) -> io::Result<BTreeMap<u64, String>> {
        let path = self.path.clone();
        let (mut parts, mut last) = (BTreeMap::new(), 0);
        loop {
            let query = format!("max-parts=1000&part-number-marker={last}&{}", self.upload_id());
            let (_, answer) = self.call(socket, "GET", &path, &query, "")?;
            for part in texts(&answer, "Part") {
                let of = |tag: &str| texts(part, tag).next().unwrap_or_default();
                let number = of("PartNumber").parse().map_err(|_| io::Error::other("a part has no number"))?;
                parts.insert(number, of("ETag").to_owned());
            }
            let newest = parts.keys().next_back().copied().unwrap_or(0);
            if texts(&answer, "IsTruncated").next() != Some("true") || newest <= last {
                return Ok(parts);
            }
            last = newest;
        }
    }

    fn put_together(&mut self, socket: &Socket, parts: &BTreeMap<u64, String>) -> io::Result<()> {
        let mut body = "<CompleteMultipartUpload>".to_owned();
        for (number, tag) in parts {
            let _ = write!(body, "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
        }
        body.push_str("</CompleteMultipartUpload>");
        let (path, query) = (self.path.clone(), self.upload_id());
        let (_, answer) = self.call(socket, "POST", &path, &query, &body)?;
        // The server answers with success before it knows.
        match texts(&answer, "Message").next() {
            Some(why) => Err(io::Error::other(format!("the object was not put together: {why}"))),
            None => Ok(()),
        }
    }

    fn give_up(&mut self, socket: &Socket) -> io::Result<()> {
        let (path, query) = (self.path.clone(), self.upload_id());
        self.call(socket, "DELETE", &path, &query, "").map(drop)
    }
}
