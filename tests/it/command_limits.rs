//! Limits on the processes and the memory of one command, with real programs under a real supervisor. The bombs also limit
//! themselves, so that a broken limit does not bring down the machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crewdeck::domain::sandbox::CommandLimits;
use crewdeck::process::supervisor::Supervisor;
use crewdeck::process::{self, JobExit};
use tokio_util::sync::CancellationToken;

use crate::common::supervised::{Sleep, job, run, sandboxed_supervisor, unconfined_supervisor};
use crate::sandbox::is_supported;

fn with_limits(
    supervisor: &Arc<Supervisor>,
    processes: Option<u32>,
    memory_mb: Option<u64>,
) -> Arc<Supervisor> {
    Arc::new(Supervisor {
        limits: CommandLimits {
            processes,
            memory_mb,
        },
        ..Supervisor::clone(supervisor)
    })
}

#[test]
fn fork_bomb_is_killed_with_an_explanation() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    // Doubles eight times: about 500 processes at most.
    let bomb = |start: &str, sleep: &Sleep| {
        let script = format!(
            "if [ $1 -ge 8 ]; then exec {}; fi\n{start} sh b.sh $(($1+1)) &\n{start} sh b.sh $(($1+1)) &\nwait\n{}\n",
            sleep.command(),
            sleep.command()
        );
        std::fs::write(dir.join("b.sh"), script).unwrap();
    };
    for start in ["", "setsid"] {
        for supervisor in [unconfined_supervisor(), sandboxed_supervisor(dir, &[], &[])] {
            let sleep = Sleep::new();
            bomb(start, &sleep);
            let report = run(&with_limits(&supervisor, Some(64), None), dir, "sh b.sh 0");
            let note = report.note.unwrap_or_default();
            // The second limit is the kernel's, which a bomb can reach between two measurements.
            let is_explained = [
                "more than 64 processes",
                "more than 256 processes and threads",
            ]
            .iter()
            .any(|limit| note.contains(limit));
            assert!(is_explained, "{start}: {note} {:?}", report.ended);
            assert_eq!(sleep.sleepers(), Vec::<i32>::new(), "{start}");
        }
    }
    // The first process of the bomb ends at once. On a slow machine, its other processes are killed as leftovers before
    // they reach the limit.
    let sleep = Sleep::new();
    bomb("", &sleep);
    let limited = with_limits(&unconfined_supervisor(), Some(64), None);
    let report = run(&limited, dir, "sh b.sh 0 & exit 0");
    let note = report.note.unwrap_or_default();
    let is_ended = note.contains(" processes") || report.had_leftovers;
    assert!(is_ended, "{note} {:?}", report.ended);
    assert_eq!(sleep.sleepers(), Vec::<i32>::new());
    // Fewer processes are allowed.
    let few = "for n in $(seq 40); do sleep 0.2 & done; wait; echo done";
    let report = run(
        &with_limits(&unconfined_supervisor(), Some(64), Some(256)),
        dir,
        few,
    );
    assert_eq!((report.ended, report.note), (JobExit::Code(0), None));
}

/// Returns the groups of the kernel in which this user may create a group with the controller, found without crewdeck.
fn creatable_cgroups(controller: &str) -> Vec<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let parents = own.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap(), parts.next().unwrap());
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|c| c == controller) {
            vec![Path::new("/sys/fs/cgroup").join(controllers).join(path)]
        } else if controllers.is_empty() {
            let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
            let own = roots.map(|root| Path::new(root).join(path));
            own.iter()
                .flat_map(|own| [own.clone(), own.join("..")])
                .collect()
        } else {
            Vec::new()
        }
    });
    let is_creatable = |parent: &PathBuf| {
        let probe = parent.join(format!("probe-{}-{controller}", std::process::id()));
        let limit = match controller {
            "memory" => ["memory.max", "memory.limit_in_bytes"],
            _ => ["pids.max", "pids.max"],
        };
        let is_created = std::fs::create_dir(&probe).is_ok();
        let has_limit = limit.iter().any(|file| probe.join(file).exists());
        is_created && std::fs::remove_dir(&probe).is_ok() && has_limit
    };
    parents.filter(is_creatable).collect()
}

#[test]
fn kernel_limits_memory_that_no_process_holds_where_the_user_may_create_a_cgroup() {
    let parents = creatable_cgroups("memory");
    if parents.is_empty() {
        eprintln!("skipped, this user may not create a cgroup");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    let groups = || {
        let entries = parents
            .iter()
            .flat_map(|parent| std::fs::read_dir(parent).unwrap().flatten());
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with("crewdeck-"))
            .collect::<Vec<_>>()
    };
    // Files that are in transit from one process to another belong to no process. 384 MiB at most.
    let in_transit = "import os, socket, time
kept = socket.socketpair()
for n in range(48):
    file = os.memfd_create(str())
    os.write(file, bytes(8 << 20))
    socket.send_fds(kept[0], [b\"x\"], [file])
    os.close(file)
print(\"all sent\", flush=True)
time.sleep(600)";
    for supervisor in [unconfined_supervisor(), sandboxed_supervisor(dir, &[], &[])] {
        let limited = with_limits(&supervisor, None, Some(128));
        let report = run(&limited, dir, &format!("python3 -c '{in_transit}'"));
        let note = report.note.unwrap_or_default();
        assert!(
            note.contains("more than 128 MiB"),
            "{note} {}",
            report.output
        );
        assert!(!report.output.contains("all sent"));

        let report = run(&limited, dir, "cat /proc/self/cgroup");
        let name = report
            .output
            .lines()
            .find_map(|line| line.split("/crewdeck-").nth(1));
        let name = format!("crewdeck-{}", name.expect(&report.output));
        assert!(!groups().contains(&name), "{name} is left");
    }

    // A command without a mount view can create groups in its own group. They are removed with it.
    let limited = with_limits(&unconfined_supervisor(), None, Some(128));
    let nest = format!(
        "own={}/$(cat /proc/self/cgroup | grep -o 'crewdeck-[0-9]*' | head -n 1) && mkdir -p $own/a/b && echo $own",
        parents[0].display()
    );
    let report = run(&limited, dir, &nest);
    let own = report.output.trim();
    assert!(own.contains("/crewdeck-"), "{}", report.output);
    assert!(!Path::new(own).exists(), "{own}");

    // Such a command can also leave its group. Then crewdeck measures its memory.
    let leave = format!(
        "echo 0 > {}/cgroup.procs; exec python3 -c 'import time; kept = bytearray(200 << 20); time.sleep(600)'",
        parents[0].display()
    );
    let note = run(&limited, dir, &leave).note.unwrap_or_default();
    assert!(note.contains("more than 128 MiB"), "{note}");

    // A supervisor that was killed leaves its group, and the next command removes it.
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let abandoned = format!("crewdeck-{}", ended.id());
    std::fs::create_dir(parents[0].join(&abandoned)).unwrap();
    run(
        &with_limits(&unconfined_supervisor(), None, Some(128)),
        dir,
        "true",
    );
    assert!(!groups().contains(&abandoned));
}

#[test]
fn kernel_limits_threads_where_the_user_may_create_a_cgroup() {
    if creatable_cgroups("pids").is_empty() {
        eprintln!("skipped, this user may not create a cgroup");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    let threads = "import threading, time
for n in range(100): threading.Thread(target=time.sleep, args=(600,)).start()
print(\"all started\", flush=True)
time.sleep(600)";
    let limited = with_limits(&unconfined_supervisor(), Some(16), None);
    let report = run(&limited, dir, &format!("python3 -c '{threads}'"));
    let note = report.note.unwrap_or_default();
    assert!(
        note.contains("more than 64 processes and threads"),
        "{note}"
    );
    assert!(!report.output.contains("all started"));
}

#[test]
fn memory_bomb_is_killed_and_other_commands_continue() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    let sleep = Sleep::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let other = job(
        &with_limits(&unconfined_supervisor(), Some(64), Some(256)),
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
        // 384 MiB of shareable memory.
        "import mmap, time
kept = mmap.mmap(-1, 384 << 20)
for n in range(0, 384 << 20, 4096): kept[n] = 1
time.sleep(600)",
        // 384 MiB in a file that only the memory holds.
        "import os, time
file = os.memfd_create(str())
for n in range(48): os.write(file, bytes(8 << 20))
time.sleep(600)",
    ];
    for bomb in bombs {
        let report = run(
            &with_limits(&unconfined_supervisor(), None, Some(256)),
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
    // 160 MiB in a file that is also mapped count once.
    let mapped = "import mmap, os, time
file = os.memfd_create(str())
os.truncate(file, 160 << 20)
kept = mmap.mmap(file, 160 << 20)
for n in range(0, 160 << 20, 4096): kept[n] = 1
time.sleep(1)";
    let report = run(
        &with_limits(&unconfined_supervisor(), None, Some(256)),
        dir,
        &format!("python3 -c '{mapped}'"),
    );
    assert_eq!((report.ended, report.note), (JobExit::Code(0), None));
    assert_eq!(sleep.sleepers().len(), 1, "the other command was ended too");
    cancel.cancel();
    assert_eq!(
        runtime.block_on(other).unwrap().unwrap().ended,
        JobExit::Cancelled
    );
    // Shared memory is private to a command and is removed with it.
    if is_supported() {
        let supervisor = sandboxed_supervisor(dir, &[], &[]);
        assert_eq!(
            run(&supervisor, dir, "echo x > /dev/shm/crewdeck-test").ended,
            JobExit::Code(0)
        );
        assert!(!Path::new("/dev/shm/crewdeck-test").exists());
    }
}

#[test]
fn files_in_shared_memory_count_as_memory_of_the_command() {
    if !is_supported() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    let limited = with_limits(&sandboxed_supervisor(dir, &[], &[]), None, Some(64));
    let fills = "import time
try:
    with open(\"/dev/shm/x\", \"wb\") as file:
        for n in range(300): file.write(bytes(1 << 20)); file.flush()
except OSError as error: print(error, flush=True)
time.sleep(600)";
    let report = run(&limited, dir, &format!("python3 -c '{fills}'"));
    let note = report.note.unwrap_or_default();
    assert!(
        note.contains("more than 64 MiB"),
        "{note} {:?}",
        report.ended
    );
    // A file of half the size is allowed.
    let half = "head -c 32M /dev/zero > /dev/shm/x; sleep 1";
    let report = run(&limited, dir, half);
    assert_eq!((report.ended, report.note), (JobExit::Code(0), None));
}
