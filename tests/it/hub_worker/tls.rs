//! A server with TLS and a certificate of an authority of its own, which `openssl` creates.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::WORKING_LEAD;
use super::errors::{assert_contains, failure};
use super::process::LoggedProcess;
use crate::common::hub_project::{HANGS, HubProject, free_port, writes_notes};
use crate::common::project::RunResult;
use crate::common::repository::git_output;
use crate::common::wait::{wait_for, wait_until};

const OPENSSL: &str = "
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[server]
subjectAltName = IP:127.0.0.1
";

/// Runs openssl in a folder with the configuration [`OPENSSL`].
fn openssl(folder: &Path, args: &str) {
    let ran = Command::new("openssl")
        .args(args.split(' '))
        .current_dir(folder)
        .output()
        .expect("the test needs the program openssl");
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "openssl {args}: {errors}");
}

/// Creates the authorities `ca` and `other`, and a certificate of `ca` for the server.
fn create_certificates(folder: &Path) {
    std::fs::write(folder.join("openssl.cnf"), OPENSSL).unwrap();
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -config openssl.cnf";
    for name in ["ca", "other"] {
        let own = format!("-subj /CN={name} -keyout {name}.key -out {name}.pem");
        openssl(
            folder,
            &format!("req -x509 {new} -extensions ca -days 2 {own}"),
        );
    }
    let own = "-subj /CN=server -keyout server.key -out server.csr";
    openssl(folder, &format!("req {new} {own}"));
    let signed = "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial";
    let end = "-days 2 -extfile openssl.cnf -extensions server -out server.pem";
    openssl(folder, &format!("{signed} {end}"));
}

/// A server that requires TLS, and the user `crew` with the password `right`.
struct TlsServer {
    process: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl TlsServer {
    fn start() -> TlsServer {
        let folder = tempfile::tempdir().unwrap();
        create_certificates(folder.path());
        let port = free_port();
        let shown = folder.path().display();
        let config = format!(
            "listen: \"127.0.0.1:{port}\"
jetstream {{ store_dir: \"{shown}/store\" }}
tls {{ cert_file: \"{shown}/server.pem\", key_file: \"{shown}/server.key\" }}
authorization {{ users: [ {{ user: crew, password: right }} ] }}
"
        );
        let path = folder.path().join("server.conf");
        std::fs::write(&path, config).unwrap();
        let program = std::env::var_os("CREWDECK_NATS_SERVER").expect("CREWDECK_NATS_SERVER");
        let process = Command::new(program)
            .arg("-c")
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the NATS server does not start", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        TlsServer {
            process,
            port,
            folder,
        }
    }

    fn authority(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.pem"))
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How a process reaches the server: the scheme of the address, the authority in the settings (empty for none), and the
/// password.
type Access = (&'static str, &'static str, &'static str);

const RIGHT: Access = ("tls", "ca", "right");

/// Returns a command in the clone of a host, whose settings it writes.
fn command(
    (project, server): (&HubProject, &TlsServer),
    host: &str,
    (scheme, authority, password): Access,
    args: &[&str],
) -> Command {
    let mut settings = String::from("[hub]\nremote = \"origin\"\nuser = \"crew\"\n");
    if !authority.is_empty() {
        let path = server.authority(authority);
        settings.push_str(&format!("ca = \"{}\"\n", path.display()));
    }
    let home = project.dir(&format!("home-{host}"));
    std::fs::write(home.join(".config/crewdeck/config.toml"), settings).unwrap();
    let url = format!("{scheme}://127.0.0.1:{}/web", server.port);
    let mut command = project.command(host, &[&["--hub", &url][..], args].concat());
    command.env("CREWDECK_HUB_PASSWORD", password);
    command
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER and openssl, see docs/hub.md"]
fn worker_and_lead_work_over_tls_and_wrong_access_is_named() {
    let project = HubProject::new(&["alpha"]);
    let server = TlsServer::start();
    let place = (&project, &server);
    let worker_script = project.write_script("alpha", &writes_notes(0));
    let worker = ["--provider", &worker_script, "worker", "--name", "alpha"];
    let lead_script = project.write_script("lead", WORKING_LEAD);
    let lead = ["--provider", &lead_script, "--tool", "auto", "run", "Wait."];
    let tls = "the TLS connection to the hub";
    for (access, part) in [
        (("tls", "other", "right"), tls),
        (("tls", "", "right"), tls),
        (("nats", "", "right"), tls),
        (("tls", "ca", "wrong"), "rejected the login"),
    ] {
        for (host, args) in [("alpha", &worker[..]), ("lead", &lead[..])] {
            let error = failure(&mut command(place, host, access, args));
            assert_contains(&error, part);
            assert!(
                !error.contains("wrong") && !error.contains("right"),
                "{error}"
            );
        }
    }

    let start = |host: &str, args: &[&str]| {
        let command = command(place, host, RIGHT, args);
        LoggedProcess::start(command, project.dir(&format!("{host}-tls.log")))
    };
    let _lead = start("lead", &lead);
    let worker = start("alpha", &[&worker[..], &["--slots", "1"]].concat());
    assert_eq!(worker.host_name(), "alpha");
    let json = |args: &[&str]| -> Value {
        let args = [&["--json"][..], args].concat();
        let ran = RunResult(command(place, "lead", RIGHT, &args).output().unwrap());
        assert_eq!(ran.code(), 0, "{args:?}: {}", ran.err());
        serde_json::from_str(&ran.out()).unwrap()
    };
    json(&["task", "add", "First"]);
    let done = wait_for("the task is not completed", || {
        let task = json(&["task", "show", "1"]);
        (task["status"] == "completed").then_some(task)
    });
    assert_eq!(done["owner"], "alpha-1");
    let note = project.published_file("wt/task-1", "notes/1.txt");
    assert_eq!(note, "Written by alpha-1.");
    let dir = project.dir("lead");
    wait_until("the lead has not taken over the branch", || {
        let found = git_output(&dir, &["rev-parse", "--verify", "--quiet", "wt/task-1"]);
        found.status.success()
    });
    assert_eq!(worker.terminate(), 0);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn worker_with_tls_does_not_use_a_server_without_it() {
    let project = HubProject::new(&["alpha"]);
    let provider = project.write_script("alpha", HANGS);
    let url = project.server.url().replace("nats://", "tls://");
    let args = ["--provider", &provider, "--hub", &url, "worker"];
    let error = failure(&mut project.command("alpha", &args));
    assert_contains(&error, "the TLS connection to the hub");
    assert_eq!(project.hosts(), Vec::new());
}
