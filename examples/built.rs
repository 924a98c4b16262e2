//! Builds the plug-ins of this folder, for the tests that run them. None, in words, where a compiler is missing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The folder of the examples: of the program, at its root, and of the engine, two folders above it.
fn here() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(|folder| folder.join("examples").is_dir());
    root.expect("the project's root").join("examples").display().to_string()
}

/// The plug-in in C: memory that fails on demand.
pub(crate) fn ram() -> Option<&'static Path> {
    static RAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    RAM.get_or_init(|| build_c("plugin-c/ram.c", "ram", &[])).as_deref()
}

/// The plug-in for NFS.
#[allow(dead_code, reason = "one of the two test programs does not use it")]
pub(crate) fn nfs() -> Option<&'static Path> {
    static NFS: OnceLock<Option<PathBuf>> = OnceLock::new();
    NFS.get_or_init(build_nfs).as_deref()
}

/// The plug-in in Rust: positioned reads and writes.
pub(crate) fn positioned() -> Option<&'static Path> {
    static POSITIONED: OnceLock<Option<PathBuf>> = OnceLock::new();
    POSITIONED.get_or_init(build_positioned).as_deref()
}

fn build_nfs() -> Option<PathBuf> {
    let mut preprocessor = Command::new(compiler());
    preprocessor.args(["-E", "-include", "nfsc/libnfs.h", "-x", "c", "/dev/null"]);
    if preprocessor.output().is_ok_and(|output| !output.status.success()) {
        eprintln!("skipped: the plug-in for NFS, libnfs-dev is not installed");
        return None;
    }
    build_c("plugin-nfs/nfs.c", "nfs", &["-lnfs"])
}

fn compiler() -> OsString {
    std::env::var_os("CC").unwrap_or_else(|| "cc".into())
}

/// Builds a plug-in of one C file.
fn build_c(source: &str, name: &str, libraries: &[&str]) -> Option<PathBuf> {
    let place = place();
    // Under its own name first: other tests may be loading what is there.
    let unfinished = place.join(format!("{name}.{}", std::process::id()));
    let mut command = Command::new(compiler());
    command.args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-O2",
        "-fPIC",
        "-shared",
        "-pthread",
        "-o",
    ]);
    let here = here();
    command.arg(&unfinished).arg(format!("-I{here}/../include")).arg(format!("{here}/{source}")).args(libraries);
    run(&mut command, &format!("the plug-in {source}"))?;
    let finished = place.join(format!("{name}.so"));
    std::fs::rename(&unfinished, &finished).unwrap();
    Some(finished)
}

fn build_positioned() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--offline", "--locked", "--manifest-path"]);
    command.arg(format!("{}/plugin-rust/Cargo.toml", here())).arg("--target-dir").arg(place());
    run(&mut command, "the plug-in in Rust")?;
    Some(place().join("debug/libpositioned.so"))
}

/// A folder beside the tests' own executables.
fn place() -> PathBuf {
    let place = std::env::current_exe().unwrap().with_file_name("plugins");
    std::fs::create_dir_all(&place).unwrap();
    place
}

/// Nothing where there is no such compiler; what it cannot compile is a failure.
fn run(command: &mut Command, what: &str) -> Option<()> {
    let Output { status, stderr, .. } = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {what}, there is no {}", command.get_program().to_string_lossy());
            return None;
        }
        output => output.unwrap(),
    };
    assert!(status.success(), "{what}: {}", String::from_utf8_lossy(&stderr));
    Some(())
}
