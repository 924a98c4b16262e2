//! Names of volumes on servers: `nbd://HOST[:PORT][/EXPORT]`, `nbd+unix:///[EXPORT]?socket=PATH`, as in "The NBD Uniform Resource
//! Indicator (URI) format" of the protocol's documentation; `smb://[[DOMAIN;]USER@]HOST[:PORT]/SHARE/FILE`; `s3://BUCKET/KEY[?upload&endpoint=https://HOST:PORT]`.

use super::credentials::Login;
use halfpower_model::Personality;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The ports that IANA lists.
const NBD_PORT: u16 = 10809;
const SMB_PORT: u16 = 445;
pub(super) const HTTP_PORT: u16 = 80;
pub(super) const HTTPS_PORT: u16 = 443;

/// A volume's name, understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Name {
    /// As the user wrote it.
    pub(crate) text: String,
    pub(crate) protocol: Personality,
    pub(crate) place: Place,
    /// Whether the connection is encrypted by TLS.
    pub(crate) is_encrypted: bool,
    /// The volume at the server; empty for its default.
    pub(crate) export: String,
    pub(crate) login: Login,
    /// Of an object that is written in parts: the number of its upload, empty before that has begun.
    pub(crate) upload: Option<String>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

/// Whether a target's name is that of a volume on a server.
pub fn is_remote(target: &Path) -> bool {
    let scheme = target.to_str().and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| ["nbd", "nbds", "nbd+unix", "nbds+unix", "smb", "cifs", "s3"].contains(&scheme))
}

impl Name {
    /// Reads it.
    ///
    /// # Errors
    /// With what is wrong and the form.
    pub(crate) fn read(target: &Path) -> Result<Name, String> {
        let text = target.to_str().ok_or("a server's volume is named in UTF-8")?;
        if let Some(rest) = text.strip_prefix("s3://") {
            return Name::of_objects(text, rest);
        }
        let is_smb = text.starts_with("smb:") || text.starts_with("cifs:");
        let form = match is_smb {
            true => "name it like smb://USER@HOST/SHARE/FILE",
            false => "name it like nbd://HOST[:PORT]/EXPORT or nbd+unix:///EXPORT?socket=PATH",
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| format!("{text} names no server; {form}"))?;
        if scheme.starts_with("nbds") {
            return Err(format!("{text} asks for NBD over TLS, which is not supported; use nbd:// through a tunnel"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let broken = || format!("{text}: a % is not followed by two digits; {form}");
        let (user, authority) = authority.rsplit_once('@').map_or((None, authority), |(user, rest)| (Some(user), rest));
        let protocol = if is_smb { Personality::Smb } else { Personality::Nbd };
        let name = |place, login| {
            let export = decoded(path).ok_or_else(broken)?;
            Ok(Name { text: text.to_owned(), protocol, place, is_encrypted: false, export, login, upload: None })
        };
        if scheme == "nbd+unix" {
            let socket = query.split('&').find_map(|part| part.strip_prefix("socket=")).and_then(decoded);
            return match socket.filter(|socket| !socket.is_empty() && authority.is_empty()) {
                Some(socket) => name(Place::Unix(PathBuf::from(socket)), Login::default()),
                None => Err(format!("{text} names no socket; {form}")),
            };
        }
        if user.is_some_and(|user| user.contains(':')) {
            // Not even the name is repeated, since the password is in it.
            return Err("the name of the target has a password, which others would see; leave it out, and put it into the file \
                 that HALFPOWER_CREDENTIALS names"
                .to_owned());
        }
        if user.is_some() && !is_smb {
            return Err(format!("{text} names a user, and NBD has none; {form}"));
        }
        if !query.is_empty() {
            // One of them may be secret.
            let name = text.split('?').next().unwrap_or_default();
            return Err(format!("{name} has parameters that are not supported; {form}"));
        }
        let port = if is_smb { SMB_PORT } else { NBD_PORT };
        let (host, port) = host_and_port(authority, port).ok_or_else(|| format!("{text} names no server; {form}"))?;
        let user = user.map(|user| decoded(user).ok_or_else(broken)).transpose()?;
        let login = if is_smb { Login::find(user.as_deref())? } else { Login::default() };
        name(Place::Tcp { host, port }, login)
    }
}

impl Name {
    /// An object, or a row of objects, of the store at the endpoint that the name or the environment has.
    fn of_objects(text: &str, rest: &str) -> Result<Name, String> {
        let form =
            "name it like s3://BUCKET/KEY or s3://BUCKET/PREFIX/, with ?endpoint=https://HOST:PORT or AWS_ENDPOINT_URL";
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if path.split('/').next().is_some_and(|bucket| bucket.contains('@')) {
            return Err(
                "the name of the target has keys, which others would see; leave them out, and put them into the \
                 environment or the file that HALFPOWER_CREDENTIALS names"
                    .to_owned(),
            );
        }
        let (mut endpoint, mut upload) = (None, None);
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.strip_prefix("endpoint=") {
                Some(named) => endpoint = Some(named.to_owned()),
                None if part == "upload" => upload = Some(String::new()),
                // Its value may be secret.
                None => {
                    let (key, _) = part.split_once('=').unwrap_or((part, ""));
                    return Err(format!("s3://{path} has `{key}`, which is not known; {form}"));
                }
            }
        }
        if upload.is_some() && path.ends_with('/') {
            return Err(format!("{text} is a row of objects, each put whole; leave ?upload out, or name one object"));
        }
        if path.starts_with('/') || !path.contains('/') {
            return Err(format!("{text} names no object; {form}"));
        }
        let login = Login::of_objects()?;
        let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = endpoint.or_else(|| of("AWS_ENDPOINT_URL_S3")).or_else(|| of("AWS_ENDPOINT_URL"));
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", login.domain));
        let (scheme, authority) = endpoint.split_once("://").unwrap_or_default();
        let usual = match scheme {
            "http" => HTTP_PORT,
            "https" => HTTPS_PORT,
            _ => return Err(format!("the endpoint is no http://HOST:PORT or https://HOST:PORT; {form}")),
        };
        let place = host_and_port(authority.trim_end_matches('/'), usual);
        let (host, port) = place.ok_or_else(|| format!("the endpoint names no server; {form}"))?;
        let export = decoded(path).ok_or_else(|| format!("{text}: a % is not followed by two digits; {form}"))?;
        let place = Place::Tcp { host, port };
        let is_encrypted = usual == HTTPS_PORT;
        Ok(Name { text: text.to_owned(), protocol: Personality::S3, place, is_encrypted, export, login, upload })
    }
}

/// `host`, `host:port`, `[address]:port`.
fn host_and_port(authority: &str, usual: u16) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']')?;
            (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""))?)
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let port = if port.is_empty() { usual } else { port.parse().ok()? };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Without percent-encoding; none if that is broken.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = match first {
            b'%' => (u8::from_str_radix(std::str::from_utf8(after.get(..2)?).ok()?, 16).ok()?, &after[2..]),
            other => (*other, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Name, String> {
        Name::read(Path::new(text))
    }

    #[test]
    fn names_are_read() {
        let tcp = |host: &str, port| Place::Tcp { host: host.to_owned(), port };
        for (text, place, export) in [
            ("nbd://host", tcp("host", 10809), ""),
            ("nbd://host/", tcp("host", 10809), ""),
            ("nbd://host:9/a%20b/c", tcp("host", 9), "a b/c"),
            ("nbd://[::1]:9/x", tcp("::1", 9), "x"),
            ("nbd+unix:///x?socket=/run/a%25b", Place::Unix("/run/a%b".into()), "x"),
            ("nbd+unix://?socket=s", Place::Unix("s".into()), ""),
        ] {
            let name = read(text).unwrap();
            assert_eq!((name.place, name.export.as_str(), name.text.as_str()), (place, export, text));
            assert!(is_remote(Path::new(text)));
        }
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_form() {
        for (text, why) in [
            ("nbd://", "names no server"),
            ("nbd://:9/x", "names no server"),
            ("nbd://host:port", "names no server"),
            ("nbd://[::1]9", "names no server"),
            ("nbd://me@host", "names a user"),
            ("nbd://host/%2", "two digits"),
            ("nbd://host/x?tls=on", "not supported"),
            ("nbd+unix:///x", "names no socket"),
            ("nbds://host", "TLS"),
            ("smb://", "names no server"),
            ("smb://host/a%", "two digits"),
        ] {
            let error = read(text).unwrap_err();
            let (name, _) = text.split_once("?tls").unwrap_or((text, ""));
            assert!(error.contains(why) && error.starts_with(name), "{error}");
        }
        for (text, why) in [
            ("smb://me:Xy7secret@host/share/file", "HALFPOWER_CREDENTIALS"),
            ("s3://key:Xy7secret@bucket/object", "HALFPOWER_CREDENTIALS"),
            ("smb://host/share/file?password=Xy7secret", "not supported"),
            ("s3://bucket/object?secret=Xy7secret", "`secret`, which is not known"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why) && !error.contains("Xy7"), "{error}");
        }
        for path in ["/dev/nbd0", "nbd:", "nbd:/x", "sim:a:b"] {
            assert!(!is_remote(Path::new(path)), "{path}");
        }
    }
}
