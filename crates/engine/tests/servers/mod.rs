//! Servers for tests, on this host alone: nbdkit, and Samba and NFS-Ganesha with configurations of their own. The tests of the
//! program use them too.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The password of the user root at [`samba`].
pub(crate) const PASSWORD: &str = "Xy7secret";
/// The user of [`object_store`].
#[allow(dead_code, reason = "one of the two test programs does not use it")]
pub(crate) const ACCESS_KEY: &str = "AKHALFPOWER";

/// A server, which ends when dropped.
pub(crate) struct Server {
    process: Child,
    directory: tempfile::TempDir,
    /// Its name before an export's or a share's.
    pub(crate) name: String,
}

impl Server {
    fn start(command: &mut Command, directory: tempfile::TempDir, name: String, listens: impl Fn() -> bool) -> Server {
        let process = command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = Server { process: process.unwrap(), directory, name };
        let begun = Instant::now();
        while !listens() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} does not listen", server.name);
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// A file in its own directory.
    #[allow(dead_code, reason = "one of the two test programs does not use it")]
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Bytes that its process has read from anywhere.
    #[allow(dead_code, reason = "one of the two test programs does not use it")]
    pub(crate) fn bytes_read(&self) -> u64 {
        let counters = std::fs::read_to_string(format!("/proc/{}/io", self.process.id())).unwrap();
        counters.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).unwrap()
    }

    /// Ends it at once, with all that it started.
    pub(crate) fn kill(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.process.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// nbdkit with arguments behind its own; none, with a message, where it is not installed.
pub(crate) fn nbdkit(arguments: &[&str]) -> Option<Server> {
    if !is_installed("nbdkit") {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let [socket, pid] = ["socket", "pid"].map(|name| directory.path().join(name));
    let mut command = Command::new("nbdkit");
    command.current_dir(&directory).args(["--foreground", "--unix"]).arg(&socket).arg("--pidfile").arg(&pid);
    command.args(arguments);
    let name = format!("nbd+unix:///?socket={}", socket.display());
    // The socket is there before it is listened on; this file is written after that.
    Some(Server::start(&mut command, directory, name, || pid.exists()))
}

/// Samba with a share `share`, which guests and root may use; none, with a message, where it cannot be run.
pub(crate) fn samba(share: &Path, options: &str) -> Option<Server> {
    if !is_installed("smbd") {
        return None;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: Samba's users are to be had by root");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().display();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let own = |key: &str| directory.path().join(key.replace(' ', "-"));
    let directories: String =
        ["private dir", "lock directory", "state directory", "cache directory", "pid directory", "ncalrpc dir"]
            .iter()
            .inspect(|key| std::fs::create_dir(own(key)).unwrap())
            .map(|key| format!("{key} = {}\n", own(key).display()))
            .collect();
    let configuration = format!(
        "[global]\nserver role = standalone server\nmap to guest = Bad User\nguest account = root\n{directories}\
         bind interfaces only = yes\ninterfaces = lo\nsmb ports = {port}\ndisable netbios = yes\nload printers = no\n\
         disable spoolss = yes\npassdb backend = smbpasswd:{here}/passwords\nlog file = {here}/log\n{options}\n\
         [share]\npath = {}\nread only = no\nguest ok = yes\nforce user = root\n",
        share.display()
    );
    let file = directory.path().join("smb.conf");
    std::fs::write(&file, configuration).unwrap();
    let set = format!("printf '{PASSWORD}\\n{PASSWORD}\\n' | smbpasswd -c {} -s -a root", file.display());
    let output = Command::new("sh").args(["-c", &set]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut command = Command::new("smbd");
    command.args(["--foreground", "--no-process-group", "--configfile"]).arg(&file);
    let name = format!("127.0.0.1:{port}");
    Some(Server::start(&mut command, directory, name, || TcpStream::connect(("127.0.0.1", port)).is_ok()))
}

/// s3s-fs with an empty bucket `bucket`; none, with a message, where it is not installed. Its user is [`ACCESS_KEY`] with [`PASSWORD`].
#[allow(dead_code, reason = "one of the two test programs does not use it")]
pub(crate) fn object_store() -> Option<Server> {
    if !is_installed("s3s-fs") {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("bucket")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("s3s-fs");
    command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--access-key", ACCESS_KEY]);
    command.args(["--secret-key", PASSWORD]).arg(directory.path());
    let name = format!("http://127.0.0.1:{port}");
    Some(Server::start(&mut command, directory, name, || TcpStream::connect(("127.0.0.1", port)).is_ok()))
}

/// The same store by TLS, and the file of its certificate; none, with a message, where what it takes is not installed.
#[allow(dead_code, reason = "one of the two test programs does not use it")]
pub(crate) fn encrypted(store: &Server) -> Option<(Server, PathBuf)> {
    if !answers_to("socat", "-V") || !answers_to("openssl", "version") {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let [settings, key, certificate] = ["settings", "key", "certificate"].map(|name| directory.path().join(name));
    // Of the address, and of no authority.
    let text = "[req]\ndistinguished_name = name\nx509_extensions = facts\nprompt = no\n[name]\nCN = store\n\
                [facts]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = IP:127.0.0.1\n";
    std::fs::write(&settings, text).unwrap();
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
    command.arg("-config").arg(&settings).arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!(
        "OPENSSL-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,verify=0,cert={},key={}",
        certificate.display(),
        key.display()
    );
    let mut command = Command::new("socat");
    command.arg(listen).arg(store.name.replace("http://", "TCP:"));
    let name = format!("https://127.0.0.1:{port}");
    let listens = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    Some((Server::start(&mut command, directory, name, listens), certificate))
}

/// NFS-Ganesha with a directory as `share`, by NFSv4 alone, as its configuration shows; its name has FILE for a file there.
/// None, with a message, where it cannot be run: by other users, without its part for files, on a file system without handles.
#[allow(dead_code, reason = "one of the two test programs does not use it")]
pub(crate) fn ganesha(share: &Path) -> Option<Server> {
    if !answers_to("ganesha.nfsd", "-v") {
        return None;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: nfs-ganesha is to be had by root");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().display();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    std::fs::create_dir(directory.path().join("recovery")).unwrap();
    let configuration = format!(
        "NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = {port}; Bind_addr = 127.0.0.1; Enable_UDP = false;\n\
         Enable_NLM = false; Enable_RQUOTA = false; }}\n\
         NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = \"{here}/recovery\"; }}\n\
         NFS_KRB5 {{ Active_krb5 = false; }}\n\
         EXPORT {{ Export_Id = 1; Path = \"{}\"; Pseudo = /share; Access_Type = RW; Squash = None; SecType = sys;\n\
         FSAL {{ Name = VFS; }} }}\n",
        share.display()
    );
    let [file, log, pid] = ["ganesha.conf", "log", "pid"].map(|name| directory.path().join(name));
    std::fs::write(&file, configuration).unwrap();
    let mut command = Command::new("ganesha.nfsd");
    command.arg("-F").arg("-f").arg(&file).arg("-L").arg(&log).arg("-p").arg(&pid);
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    let name = format!("nfs://127.0.0.1/share/FILE?version=4&nfsport={port}");
    let listens = || ["NFS SERVER INITIALIZED", ":FATAL :"].iter().any(|end| logged().contains(end));
    let server = Server::start(&mut command, directory, name, listens);
    let logged = logged();
    let is_fault = |line: &&str| line.contains(":FATAL :") || line.contains("Could not create export");
    let Some(fault) = logged.lines().find(is_fault) else { return Some(server) };
    eprintln!("skipped: nfs-ganesha does not serve here: {fault}");
    None
}

fn is_installed(program: &str) -> bool {
    answers_to(program, "--version")
}

fn answers_to(program: &str, question: &str) -> bool {
    let is_there = Command::new(program).arg(question).output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("skipped: {program} is not installed");
    }
    is_there
}
