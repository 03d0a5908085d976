//! Network and sockets of sandboxed commands, with real programs under a real supervisor.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::Arc;

use crate::common::supervised::{
    NO_LIMITS, check_available, job, program, run, sandboxed_supervisor, unconfined_supervisor,
};
use crewdeck::domain::sandbox::SocketGroup;
use crewdeck::process::sandbox::{Availability, Sandbox, probe};
use crewdeck::process::supervisor::Supervisor;
use crewdeck::process::{self, JobExit, JobReport, NetworkReach, Reach};
use tokio_util::sync::CancellationToken;

/// Returns whether this machine has namespaces and Landlock. If not, the tests are skipped.
pub fn is_supported() -> bool {
    let report = probe(Some(&program()));
    let has_all = report.landlock.is_some()
        && report.view == Availability::Yes
        && report.network == Availability::Yes;
    check_available((!has_all).then(|| format!("{report:?}")))
}

fn with_network(
    supervisor: &Arc<Supervisor>,
    dir: &Path,
    network: NetworkReach,
    command: &str,
) -> JobReport {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = process::CommandSpec {
        reach: Reach {
            network,
            ..Reach::default()
        },
        ..job(supervisor, dir, command)
    };
    let report = runtime.block_on(process::run(&job, &CancellationToken::new(), |_| {}));
    report.unwrap()
}

#[test]
fn command_without_network_has_only_a_private_loopback() {
    if !is_supported() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().canonicalize().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let outside =
        format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)'");
    let inside =
        "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()
socket.create_connection(s.getsockname(), 5)'";
    let unsandboxed = unconfined_supervisor();
    let sandboxed = sandboxed_supervisor(&dir, &["/tmp".into()], &[]);
    for supervisor in [unsandboxed, sandboxed] {
        let on = with_network(&supervisor, &dir, NetworkReach::On, &outside);
        assert_eq!(on.ended, JobExit::Code(0), "{}", on.output);
        let off = with_network(&supervisor, &dir, NetworkReach::Off, &outside);
        assert_eq!(off.ended, JobExit::Code(1), "{}", off.output);
        let own = with_network(&supervisor, &dir, NetworkReach::Off, inside);
        assert_eq!(own.ended, JobExit::Code(0), "{}", own.output);
        // Imitates the error of a program, because no test connects to an address outside this machine.
        let far = "python3 -c 'raise OSError(101, \"Network is unreachable\")'";
        let far = with_network(&supervisor, &dir, NetworkReach::Off, far);
        assert!(
            far.note.unwrap().contains("The network is off"),
            "{}",
            far.output
        );
    }
}

/// Returns a supervisor for a crew in `root`. Of the services that act for the user, its commands may connect to those
/// in `sockets` only.
fn guard_with_sockets(root: &Path, sockets: &[SocketGroup]) -> Arc<Supervisor> {
    let confinement = Sandbox::new(root, None, &["/tmp".into()], &[]).with_sockets(sockets);
    Arc::new(Supervisor {
        sandbox: Some(confinement),
        ..Supervisor::clone(&unconfined_supervisor())
    })
}

fn can_connect(supervisor: &Arc<Supervisor>, dir: &Path, socket: &str) -> bool {
    let command =
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{socket}\")'");
    run(supervisor, dir, &command).ended == JobExit::Code(0)
}

#[test]
fn commands_cannot_reach_services_that_act_for_the_user() {
    if !is_supported() {
        return;
    }
    let root = tempfile::tempdir_in("/tmp").unwrap();
    let dir = root.path().canonicalize().unwrap();
    let elsewhere = tempfile::tempdir_in("/tmp").unwrap();
    let agent = tempfile::Builder::new()
        .prefix("ssh-")
        .tempdir_in("/tmp")
        .unwrap();
    let sockets = [
        (agent.path().join("agent.1"), Some(SocketGroup::Ssh)),
        (
            elsewhere.path().join("docker.sock"),
            Some(SocketGroup::Containers),
        ),
        (
            elsewhere.path().join("podman.sock"),
            Some(SocketGroup::Containers),
        ),
        (elsewhere.path().join("bus"), Some(SocketGroup::Dbus)),
        (
            elsewhere.path().join("wayland-7"),
            Some(SocketGroup::Display),
        ),
        (elsewhere.path().join("S.gpg-agent"), Some(SocketGroup::Gpg)),
        (elsewhere.path().join("database.sock"), None),
        (dir.join("docker.sock"), None),
    ];
    for (path, group) in &sockets {
        let _listener = UnixListener::bind(path).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(
            can_connect(&guard_with_sockets(&dir, &[]), &dir, path),
            group.is_none(),
            "{path}"
        );
        let all: Vec<SocketGroup> = group.iter().copied().collect();
        assert!(
            can_connect(&guard_with_sockets(&dir, &all), &dir, path),
            "{path}"
        );
    }
    let name = format!("crewdeck-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    assert!(!can_connect(
        &guard_with_sockets(&dir, &[]),
        &dir,
        &format!("\\0{name}")
    ));
    assert!(can_connect(
        &guard_with_sockets(&dir, &[SocketGroup::Display]),
        &dir,
        &format!("\\0{name}")
    ));
}

#[test]
fn variables_for_blocked_services_are_removed() {
    if !is_supported() {
        return;
    }
    let environment = |allowed: &str| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "sandbox::print_command_environment",
                "--ignored",
                "--nocapture",
            ])
            .env("SSH_AUTH_SOCK", "/nowhere/agent")
            .env("DOCKER_HOST", "tcp://127.0.0.1:1")
            .env("WAYLAND_DISPLAY", "wayland-7")
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus")
            .env("CREWDECK_TEST_ALLOWED", allowed)
            .output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    };
    let names = [
        "SSH_AUTH_SOCK=",
        "DOCKER_HOST=",
        "WAYLAND_DISPLAY=",
        "DBUS_SESSION_BUS_ADDRESS=",
    ];
    let none = environment("");
    assert!(none.contains("PATH="), "{none}");
    assert!(names.iter().all(|name| !none.contains(name)), "{none}");
    let all = environment("all");
    assert!(names.iter().all(|name| all.contains(name)), "{all}");
}

/// Not a test: another test starts it as a process, and it prints the environment that a command gets.
#[test]
#[ignore = "started by variables_for_blocked_services_are_removed"]
fn print_command_environment() {
    let dir = tempfile::tempdir().unwrap();
    let is_all = std::env::var("CREWDECK_TEST_ALLOWED").is_ok_and(|text| text == "all");
    let allowed = if is_all { &SocketGroup::ALL[..] } else { &[] };
    println!(
        "{}",
        run(&guard_with_sockets(dir.path(), allowed), dir.path(), "env").output
    );
    assert_eq!(guard_with_sockets(dir.path(), &[]).limits, NO_LIMITS);
}
