//! Limits, network and sockets of sandboxed commands, tried with real programs below a real guard. Bombs are bounded by
//! themselves too: a sandbox that does not work must not take the machine along.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::Arc;

use crate::common::held::{
    NO_LIMITS, Sleep, can_be_tried_without, confined, free, job, program, run,
};
use crewdeck::domain::sandbox::{CommandLimits, SocketGroup};
use crewdeck::process::confine::{Confinement, Works, probe};
use crewdeck::process::guard::Guard;
use crewdeck::process::{self, Ended, NetworkReach, Reach, Report};
use tokio_util::sync::CancellationToken;

fn limited(guard: &Arc<Guard>, processes: Option<u32>, memory_mb: Option<u64>) -> Arc<Guard> {
    Arc::new(Guard {
        limits: CommandLimits {
            processes,
            memory_mb,
        },
        ..Guard::clone(guard)
    })
}

/// Whether this machine has namespaces and Landlock; where it has not, nothing can be tried.
fn can_be_tried() -> bool {
    let report = probe(Some(&program()));
    let has_all =
        report.landlock.is_some() && report.view == Works::Yes && report.network == Works::Yes;
    can_be_tried_without((!has_all).then(|| format!("{report:?}")))
}

#[test]
fn a_fork_bomb_ends_with_a_line_that_says_so() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    // Doubles nine times: a thousand processes at most.
    let bomb = |start: &str, sleep: &Sleep| {
        let script = format!(
            "if [ $1 -ge 9 ]; then exec {}; fi\n{start} sh b.sh $(($1+1)) &\n{start} sh b.sh $(($1+1)) &\nwait\n{}\n",
            sleep.command(),
            sleep.command()
        );
        std::fs::write(dir.join("b.sh"), script).unwrap();
    };
    for start in ["", "setsid"] {
        for guard in [free(), confined(dir, &[], &[])] {
            let sleep = Sleep::new();
            bomb(start, &sleep);
            let report = run(&limited(&guard, Some(64), None), dir, "sh b.sh 0");
            let note = report.note.unwrap_or_default();
            assert!(
                note.contains("more than 64 processes"),
                "{start}: {note} {:?}",
                report.ended
            );
            assert_eq!(sleep.sleepers(), Vec::<i32>::new(), "{start}");
        }
    }
    // Fewer of them are no bomb.
    let few = "for n in $(seq 40); do sleep 0.2 & done; wait; echo done";
    let report = run(&limited(&free(), Some(64), Some(256)), dir, few);
    assert_eq!((report.ended, report.note), (Ended::Code(0), None));
}

#[test]
fn a_memory_bomb_ends_and_other_commands_go_on() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    let sleep = Sleep::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let other = job(
        &limited(&free(), Some(64), Some(256)),
        dir,
        &sleep.command(),
    );
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let other = runtime.spawn(async move { process::run(&other, &token, |_| {}).await });
    sleep.wait_for_one();
    let bombs = [
        // 640 MiB at most, in pieces and over several processes.
        "import os, time
for n in range(4): os.fork() if n < 2 else None
kept = [bytearray(os.urandom(1) * (8 << 20)) for n in range(20)]
time.sleep(600)",
        // 384 MiB of memory that processes could share.
        "import mmap, time
kept = mmap.mmap(-1, 384 << 20)
for n in range(0, 384 << 20, 4096): kept[n] = 1
time.sleep(600)",
    ];
    for bomb in bombs {
        let report = run(
            &limited(&free(), None, Some(256)),
            dir,
            &format!("python3 -c '{bomb}'"),
        );
        let note = report.note.unwrap_or_default();
        assert!(
            note.contains("more than 256 MiB"),
            "{note} {:?}",
            report.ended
        );
    }
    assert_eq!(sleep.sleepers().len(), 1, "the other command was ended too");
    cancel.cancel();
    assert_eq!(
        runtime.block_on(other).unwrap().unwrap().ended,
        Ended::Cancelled
    );
    // Shared memory has a bound of its own, and is gone with its command.
    if can_be_tried() {
        let guard = confined(dir, &[], &[]);
        assert_eq!(
            run(&guard, dir, "echo x > /dev/shm/crewdeck-test").ended,
            Ended::Code(0)
        );
        assert!(!Path::new("/dev/shm/crewdeck-test").exists());
    }
}

fn with_network(guard: &Arc<Guard>, dir: &Path, network: NetworkReach, command: &str) -> Report {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = process::Job {
        reach: Reach {
            network,
            ..Reach::default()
        },
        ..job(guard, dir, command)
    };
    let report = runtime.block_on(process::run(&job, &CancellationToken::new(), |_| {}));
    report.unwrap()
}

#[test]
fn a_command_without_network_has_only_a_loopback_of_its_own() {
    if !can_be_tried() {
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
    let unconfined = free();
    let guarded = confined(&dir, &["/tmp".into()], &[]);
    for guard in [unconfined, guarded] {
        let on = with_network(&guard, &dir, NetworkReach::On, &outside);
        assert_eq!(on.ended, Ended::Code(0), "{}", on.output);
        let off = with_network(&guard, &dir, NetworkReach::Off, &outside);
        assert_eq!(off.ended, Ended::Code(1), "{}", off.output);
        let own = with_network(&guard, &dir, NetworkReach::Off, inside);
        assert_eq!(own.ended, Ended::Code(0), "{}", own.output);
        // What a program prints there: no test calls an address outside this machine.
        let far = "python3 -c 'raise OSError(101, \"Network is unreachable\")'";
        let far = with_network(&guard, &dir, NetworkReach::Off, far);
        assert!(
            far.note.unwrap().contains("The network is off"),
            "{}",
            far.output
        );
    }
}

/// A guard for a crew in `root` whose commands may reach these services.
fn allowing(root: &Path, sockets: &[SocketGroup]) -> Arc<Guard> {
    let confinement = Confinement::new(root, None, &["/tmp".into()], &[]).with_sockets(sockets);
    Arc::new(Guard {
        confinement: Some(confinement),
        ..Guard::clone(&free())
    })
}

fn connects(guard: &Arc<Guard>, dir: &Path, socket: &str) -> bool {
    let command =
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{socket}\")'");
    run(guard, dir, &command).ended == Ended::Code(0)
}

#[test]
fn services_that_act_for_the_user_are_not_reached() {
    if !can_be_tried() {
        return;
    }
    let root = tempfile::tempdir_in("/tmp").unwrap();
    let dir = root.path().canonicalize().unwrap();
    let elsewhere = tempfile::tempdir_in("/tmp").unwrap();
    let agent = tempfile::Builder::new()
        .prefix("ssh-")
        .tempdir_in("/tmp")
        .unwrap();
    let places = [
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
    for (path, group) in &places {
        let _listener = UnixListener::bind(path).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(
            connects(&allowing(&dir, &[]), &dir, path),
            group.is_none(),
            "{path}"
        );
        let all: Vec<SocketGroup> = group.iter().copied().collect();
        assert!(connects(&allowing(&dir, &all), &dir, path), "{path}");
    }
    let name = format!("crewdeck-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    assert!(!connects(&allowing(&dir, &[]), &dir, &format!("\\0{name}")));
    assert!(connects(
        &allowing(&dir, &[SocketGroup::Display]),
        &dir,
        &format!("\\0{name}")
    ));
}

#[test]
fn variables_that_lead_to_such_services_are_absent() {
    if !can_be_tried() {
        return;
    }
    let seen = |allowed: &str| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "sandbox::environment_of_a_command",
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
    let none = seen("");
    assert!(none.contains("PATH="), "{none}");
    assert!(names.iter().all(|name| !none.contains(name)), "{none}");
    let all = seen("all");
    assert!(names.iter().all(|name| all.contains(name)), "{all}");
}

/// Not a test of its own: what a command sees in the environment of this process.
#[test]
#[ignore = "started by another test"]
fn environment_of_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let is_all = std::env::var("CREWDECK_TEST_ALLOWED").is_ok_and(|text| text == "all");
    let allowed = if is_all { &SocketGroup::ALL[..] } else { &[] };
    println!(
        "{}",
        run(&allowing(dir.path(), allowed), dir.path(), "env").output
    );
    assert_eq!(allowing(dir.path(), &[]).limits, NO_LIMITS);
}
