//! Whole objects, one request at a time: what [`files`](crate::files) does at an object store in place of a file system.

use super::http::{self, Head, errno_of, texts};
use super::signing::encoded;
use super::{LISTS_MAX, Name, S3, Socket, receive_more};
use crate::network::Protocol;
use crate::target::{Access, TargetError};
use std::io;
use std::path::{Path, PathBuf};

/// The objects that a run puts below its own name, and removes.
#[derive(Debug)]
pub struct ObjectTree(Name);

impl ObjectTree {
    /// Those below `own` in `s3://BUCKET/PREFIX/`. There is none before one is put.
    ///
    /// # Errors
    /// If the target is not named so.
    pub fn below(target: &Path, own: &str) -> Result<ObjectTree, TargetError> {
        let text = target.to_string_lossy();
        let (path, query) = text.split_at(text.find('?').unwrap_or(text.len()));
        if !path.starts_with("s3://") || !path.ends_with('/') {
            let form = "name a directory, or objects like s3://BUCKET/PREFIX/";
            return Err(TargetError::Rejected(format!("{text} has no files; {form}")));
        }
        let name = Name::read(Path::new(&format!("{path}{own}/{query}"))).map_err(TargetError::Rejected)?;
        Ok(ObjectTree(name))
    }

    /// Its name as a target.
    pub fn target(&self) -> PathBuf {
        PathBuf::from(&self.0.text)
    }

    /// Deletes them.
    ///
    /// # Errors
    /// The connection's, or the server's answer.
    pub fn empty(&self) -> Result<(), TargetError> {
        let delete = || {
            let mut objects = self.connect()?;
            for _ in 0..LISTS_MAX {
                // The first ones that are left.
                let keys = objects.list("", &mut String::new())?;
                if keys.is_empty() {
                    return Ok(());
                }
                keys.iter().try_for_each(|key| objects.delete(key))?;
            }
            Err(io::Error::other("the server lists them still"))
        };
        delete().map_err(|error: io::Error| {
            TargetError::Rejected(format!("cannot delete the objects below {}: {error}", self.0.text))
        })
    }

    /// A connection of one worker.
    pub(crate) fn connect(&self) -> io::Result<Objects> {
        let (s3, socket) = S3::again(&self.0, Access::Overwrite)?;
        Ok(Objects { name: self.0.clone(), s3, socket, bytes: Vec::new() })
    }
}

/// A connection to them. Keys are below their name.
#[derive(Debug)]
pub(crate) struct Objects {
    name: Name,
    s3: S3,
    socket: Socket,
    /// A request, or what has come of an answer.
    bytes: Vec<u8>,
}

impl Objects {
    /// # Errors
    /// The connection's, or the server's answer in words.
    pub(crate) fn put(&mut self, key: &str, data: &[u8]) -> io::Result<()> {
        let head = self.ask("PUT", key, data)?;
        self.finish(&head, true)
    }

    /// The size of an object.
    ///
    /// # Errors
    /// The connection's, or the server's answer as an error number.
    pub(crate) fn size(&mut self, key: &str) -> io::Result<Option<u64>> {
        let head = self.ask("HEAD", key, &[])?;
        self.s3.closes = head.closes;
        match errno_of(head.status) {
            0 => Ok(head.length),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Reads an object; false if it has another size than `data`.
    ///
    /// # Errors
    /// As [`size`](Self::size).
    pub(crate) fn get(&mut self, key: &str, data: &mut [u8]) -> io::Result<bool> {
        let head = self.ask("GET", key, &[])?;
        if errno_of(head.status) != 0 {
            return self.finish(&head, false).map(|()| false);
        }
        let come = &self.bytes[head.bytes..];
        // What is left of another size goes with its connection.
        if head.is_chunked || head.length != Some(data.len() as u64) || come.len() > data.len() {
            return Ok(false);
        }
        let (first, rest) = data.split_at_mut(come.len());
        first.copy_from_slice(come);
        self.socket.receive_exactly(rest)?;
        self.s3.closes = head.closes;
        Ok(true)
    }

    /// # Errors
    /// As [`size`](Self::size).
    pub(crate) fn delete(&mut self, key: &str) -> io::Result<()> {
        let head = self.ask("DELETE", key, &[])?;
        self.finish(&head, false)
    }

    /// The keys that begin with `below`, from a token on, empty for the first; it becomes that of the next, empty for none.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub(crate) fn list(&mut self, below: &str, token: &mut String) -> io::Result<Vec<String>> {
        self.stay_connected()?;
        let (bucket, prefix) = self.name.export.split_once('/').unwrap_or((&self.name.export, ""));
        self.s3.closes = true;
        let text = self.s3.list(&self.socket, bucket, &format!("{prefix}{below}"), token)?;
        // A key ends like the names that a run gives; before that it is the user's, with characters that XML escapes.
        let own = prefix.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let mark = format!("{own}/");
        let key = |object| Some(texts(object, "Key").next()?.rsplit_once(&mark)?.1.to_owned());
        Ok(texts(&text, "Contents").filter_map(key).collect())
    }

    /// Sends a request and receives the start of its answer. The connection ends unless the answer is read whole.
    fn ask(&mut self, method: &str, key: &str, data: &[u8]) -> io::Result<Head> {
        self.stay_connected()?;
        let path = format!("{}{}", self.s3.path, encoded(key, true));
        self.s3.message(method, &path, "", data, &mut self.bytes);
        self.s3.closes = true;
        self.socket.send_all(&self.bytes)?;
        self.bytes.clear();
        loop {
            receive_more(&self.socket, &mut self.bytes)?;
            if let Some(head) = http::head(&self.bytes).map_err(io::Error::other)? {
                return Ok(head);
            }
        }
    }

    /// Receives the rest of an answer; the error that it says, in words or as a number.
    fn finish(&mut self, head: &Head, is_told: bool) -> io::Result<()> {
        loop {
            if let Some((explanation, _)) = http::explained(head, &self.bytes).map_err(io::Error::other)? {
                self.s3.closes = head.closes;
                return match errno_of(head.status) {
                    0 => Ok(()),
                    _ if is_told => Err(io::Error::other(format!("the server refused: {explanation}"))),
                    errno => Err(io::Error::from_raw_os_error(errno)),
                };
            }
            receive_more(&self.socket, &mut self.bytes)?;
        }
    }

    fn stay_connected(&mut self) -> io::Result<()> {
        if self.s3.closes {
            (self.s3, self.socket) = S3::again(&self.name, Access::Overwrite)?;
        }
        Ok(())
    }
}
