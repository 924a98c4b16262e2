//! Who a server is told that we are: from a file, the environment, or a question that the program asked. Never from a command line or
//! a target's name, which other users and records see.
//!
//! HALFPOWER_CREDENTIALS names a file with lines `username=`, `password=` and `domain=`, as mount.cifs(8) takes it;
//! HALFPOWER_PASSWORD is a password alone. For object stores AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY have them, or the file.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

/// The variables.
const FILE: &str = "HALFPOWER_CREDENTIALS";
const PASSWORD: &str = "HALFPOWER_PASSWORD";

/// The password that the program asked for.
static ANSWERED: OnceLock<String> = OnceLock::new();

/// A user of a server, or a guest. Its debug form has no password.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Login {
    /// Empty for a guest.
    pub(crate) user: String,
    /// Of S3 the region.
    pub(crate) domain: String,
    pub(crate) password: String,
    /// Of temporary credentials of S3.
    pub(crate) token: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Login").field("user", &self.user).field("domain", &self.domain).finish_non_exhaustive()
    }
}

/// Whether the password of a named user is not known yet, so that somebody has to be asked.
pub fn needs_password() -> bool {
    std::env::var_os(FILE).is_none() && std::env::var_os(PASSWORD).is_none() && ANSWERED.get().is_none()
}

/// Remembers the answer for as long as this program runs.
pub fn remember_password(password: String) {
    let _ = ANSWERED.set(password);
}

impl Login {
    /// Of a user that a name has, or of the credentials' own.
    ///
    /// # Errors
    /// If the file cannot be read or others can read it; the message has nothing of its content.
    pub(crate) fn find(user: Option<&str>) -> Result<Login, String> {
        let mut login = match std::env::var_os(FILE) {
            Some(path) => Login::read(Path::new(&path))?,
            None => Login::default(),
        };
        if login.password.is_empty() {
            let given = std::env::var(PASSWORD).ok().or_else(|| ANSWERED.get().cloned());
            login.password = given.unwrap_or_default();
        }
        if let Some(user) = user {
            // `DOMAIN;user`, as in smb URLs.
            let (domain, user) = user.split_once(';').unwrap_or((&login.domain, user));
            (login.domain, login.user) = (domain.to_owned(), user.to_owned());
        }
        Ok(login)
    }

    /// Of an object store, in the variables that Amazon's programs use, or the credentials' file; without a user, requests are not
    /// signed.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub(crate) fn of_objects() -> Result<Login, String> {
        let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut login = match std::env::var_os(FILE) {
            Some(path) => Login::read(Path::new(&path))?,
            None => Login::default(),
        };
        if let (Some(user), Some(password)) = (of("AWS_ACCESS_KEY_ID"), of("AWS_SECRET_ACCESS_KEY")) {
            (login.user, login.password) = (user, password);
            login.token = of("AWS_SESSION_TOKEN").unwrap_or_default();
        }
        let region = of("AWS_REGION").or_else(|| of("AWS_DEFAULT_REGION"));
        login.domain = region.unwrap_or_else(|| "us-east-1".to_owned());
        Ok(login)
    }

    fn read(path: &Path) -> Result<Login, String> {
        let fail = |what: String| format!("{FILE} names {}, which {what}", path.display());
        let facts = std::fs::metadata(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
        if facts.mode() & 0o077 != 0 {
            return Err(fail("others can read; run `chmod 600` on it".to_owned()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let mut login = Login::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_start();
            match line.split_once('=') {
                Some(("username" | "user", value)) => login.user = value.to_owned(),
                Some(("password" | "pass", value)) => login.password = value.to_owned(),
                Some(("domain" | "dom" | "workgroup", value)) => login.domain = value.to_owned(),
                _ if line.is_empty() || line.starts_with('#') => {}
                _ => {
                    return Err(fail(format!(
                        "has something else than username=, password= and domain= in line {number}"
                    )));
                }
            }
        }
        Ok(login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    fn file(content: &str, mode: u32) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content.as_bytes()).unwrap();
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn a_file_of_mount_cifs_is_read() {
        let file = file("# mine\nusername=me\n password=a=b c \ndomain=HOME\n\n", 0o600);
        let login = Login::read(file.path()).unwrap();
        assert_eq!((login.user.as_str(), login.password.as_str(), login.domain.as_str()), ("me", "a=b c ", "HOME"));
    }

    #[test]
    fn no_message_has_a_password() {
        let secret = "Xy7secret";
        let open = file(&format!("password={secret}"), 0o644);
        let odd = file(&format!("username=me\npasswort={secret}"), 0o600);
        let messages = [&open, &odd].map(|file| Login::read(file.path()).unwrap_err());
        assert!(messages[0].contains("chmod 600") && messages[1].contains("line 2"), "{messages:?}");
        let login = Login { password: secret.to_owned(), user: "me".to_owned(), ..Login::default() };
        let shown = [messages.join(" "), format!("{login:?}")].concat();
        assert!(!shown.contains(secret), "{shown}");
    }
}
