//! Refuses targets that share storage: two names of one file or device, a partition and its disk, a loop device and the
//! file it lies on. Told by identity, never by name; what requests to the one find, requests to the other have changed.

use super::error::TargetError;
use super::in_use::{Node, tree_of_host};
use std::fs::{self, Metadata};
use std::path::Path;

/// Refuses paths of which two lead to the same storage; those that lead nowhere yet are passed over.
///
/// # Errors
/// Naming the two.
pub fn refuse_same<P: AsRef<Path>>(paths: &[P]) -> Result<(), TargetError> {
    let known = paths.iter().filter_map(|path| Some((path.as_ref(), fs::metadata(path).ok()?)));
    refuse(&known.collect::<Vec<_>>())
}

/// The same for what was examined already.
pub(super) fn refuse(targets: &[(&Path, Metadata)]) -> Result<(), TargetError> {
    if targets.len() < 2 {
        return Ok(());
    }
    let tree = tree_of_host();
    for (index, (path, facts)) in targets.iter().enumerate() {
        let others = targets[..index].iter();
        let related = |(other, its): &(&Path, Metadata)| {
            let relation = tree.relation(Node::of(facts), Node::of(its))?;
            Some((other.display().to_string(), if facts.is_dir() { "are one directory" } else { relation }))
        };
        if let Some((other, relation)) = others.filter_map(related).next() {
            let path = path.display();
            return Err(TargetError::Rejected(format!("{path} and {other} {relation}; name each target once")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_many_names() {
        let directory = tempfile::tempdir().unwrap();
        let [file, hard, soft, other] = ["file", "hard", "soft", "other"].map(|name| directory.path().join(name));
        std::fs::write(&file, "a").unwrap();
        std::fs::write(&other, "a").unwrap();
        std::fs::hard_link(&file, &hard).unwrap();
        std::os::unix::fs::symlink(&file, &soft).unwrap();
        for name in [&file, &hard, &soft] {
            let message = refuse_same(&[&file, &other, name]).unwrap_err().to_string();
            assert!(message.contains("are one file") && message.contains(&name.display().to_string()), "{message}");
        }
        assert!(refuse_same(&[file, other, directory.path().join("none"), directory.path().join("none")]).is_ok());
        let again = directory.path().join(".");
        assert!(refuse_same(&[directory.path(), &again]).unwrap_err().to_string().contains("one directory"));
    }
}
