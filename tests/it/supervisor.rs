//! The process supervisor: no process of an agent's command outlives the command, however it detaches and whichever process is
//! killed.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::project::Project;
use crate::common::supervised::{Sleep, job, kill, parent_of, run, unconfined_supervisor};
use crate::common::wait::{wait_for, wait_until};
use crewdeck::process::{self, JobExit};
use tokio_util::sync::CancellationToken;

/// Shell commands that detach a process from its parent. `@` stands for the command of the process.
const ESCAPES: &[&str] = &[
    "@ &",
    "nohup @ >/dev/null 2>&1 &",
    "setsid @ >/dev/null 2>&1 &",
    "(setsid @ >/dev/null 2>&1 &) &",
    "(setsid sh -c 'trap \"\" TERM HUP; @; @' >/dev/null 2>&1 &) &",
    "setsid sh -c '(setsid sh -c \"(@ &) ; @\" &) ; @' >/dev/null 2>&1 </dev/null & ",
    "env -i /bin/sh -c '/usr/bin/setsid @ &' >/dev/null 2>&1",
    "setsid sh -c 'kill -STOP $$; @' & @ &",
];

fn escape(pattern: &str, sleep: &Sleep) -> String {
    pattern.replace('@', &sleep.command())
}

#[test]
fn processes_outside_the_group_end_with_the_command() {
    for pattern in ESCAPES {
        let sleep = Sleep::new();
        let command = format!("{} echo started", escape(pattern, &sleep) + "\n");
        let report = run(&unconfined_supervisor(), Path::new("/"), &command);
        assert_eq!(report.ended, JobExit::Code(0), "{pattern}: {report:?}");
        assert!(
            report.output.ends_with("started\n"),
            "{pattern}: {report:?}"
        );
        assert!(report.had_leftovers, "{pattern}");
        // The processes have ended before the report.
        assert_eq!(sleep.sleepers(), Vec::<i32>::new(), "{pattern}");
    }
}

#[test]
fn clean_command_has_no_leftovers_and_reports_its_end() {
    let root = Path::new("/");
    for (command, ended, output) in [
        ("echo a; echo b >&2; exit 3", JobExit::Code(3), "a\nb\n"),
        ("kill -9 $$", JobExit::Signal(9), ""),
        ("sleep 0.01 & wait; echo ok", JobExit::Code(0), "ok\n"),
        ("sleep 0.02 & echo ok", JobExit::Code(0), "ok\n"),
        ("cat; echo $?", JobExit::Code(0), "0\n"),
        ("yes | head -c 4", JobExit::Code(0), "y\ny\n"),
        ("exec no-such-program 2>/dev/null", JobExit::Code(127), ""),
    ] {
        let report = run(&unconfined_supervisor(), root, command);
        assert_eq!(
            (report.ended, report.output.as_str(), report.had_leftovers),
            (ended, output, false),
            "{command}"
        );
    }
}

#[test]
fn timeout_cancel_and_drop_end_escaped_processes() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for ending in ["time-out", "cancel", "drop"] {
        let sleep = Sleep::new();
        let command = format!(
            "trap '' TERM; echo early; {}\n {}; {}",
            escape(ESCAPES[4], &sleep),
            sleep.command(),
            sleep.command()
        );
        let mut job = job(&unconfined_supervisor(), Path::new("/"), &command);
        if ending == "time-out" {
            job.timeout = Duration::from_secs(5);
        }
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let running = runtime.spawn(async move { process::run(&job, &token, |_| {}).await });
        sleep.wait_for_one();
        match ending {
            "cancel" => cancel.cancel(),
            "drop" => running.abort(),
            _ => {}
        }
        let result = runtime.block_on(running);
        match ending {
            "time-out" => {
                let report = result.unwrap().unwrap();
                assert_eq!(report.ended, JobExit::TimedOut);
                assert_eq!(report.output, "early\n");
            }
            "cancel" => assert_eq!(result.unwrap().unwrap().ended, JobExit::Cancelled),
            _ => assert!(result.unwrap_err().is_cancelled()),
        }
        if ending != "drop" {
            assert_eq!(sleep.sleepers(), Vec::<i32>::new(), "{ending}");
        }
        sleep.wait_for_none();
    }
}

#[test]
fn killed_supervisor_leaves_no_processes() {
    let sleep = Sleep::new();
    let command = format!("setsid {} & {}", sleep.command(), sleep.command());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = job(&unconfined_supervisor(), Path::new("/"), &command);
    let running =
        runtime.spawn(async move { process::run(&job, &CancellationToken::new(), |_| {}).await });
    // The shell may have replaced itself with the last one.
    let shell = wait_for("two processes that sleep", || {
        let all = sleep.sleepers();
        (all.len() >= 2).then(|| all[0])
    });
    let mut supervisor = parent_of(shell);
    while !std::fs::read(format!("/proc/{supervisor}/cmdline"))
        .unwrap()
        .starts_with(b"crewdeck\0guard\0")
    {
        supervisor = parent_of(supervisor);
        assert!(supervisor > 1, "no supervisor above {shell}");
    }
    kill("KILL", supervisor);
    let report = runtime.block_on(running).unwrap().unwrap();
    assert_eq!(
        (report.ended, report.had_leftovers),
        (JobExit::Signal(9), true)
    );
    sleep.wait_for_none();
}

#[test]
fn killed_crewdeck_leaves_no_program_or_supervisor() {
    let project = Project::new();
    let (command, job) = (Sleep::new(), Sleep::new());
    let script = format!(
        "rules:\n  - when: go\n    calls:\n      - {{ tool: background_run, input: {{ command: \"{}\" }} }}\n      - {{ tool: bash, input: {{ command: \"setsid {} & {}\" }} }}\n",
        job.command(),
        command.command(),
        command.command()
    );
    let file = project.write("script.yaml", &script);
    let mut crewdeck = project
        .command(&["run", "go", "--tool", "auto", "--provider"])
        .arg(format!("script:{}", file.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut supervisors = Vec::new();
    for sleep in [&command, &job] {
        let mut pid = sleep.wait_for_one();
        while parent_of(pid) != i32::try_from(crewdeck.id()).unwrap() {
            pid = parent_of(pid);
            assert!(pid > 1, "crewdeck must be an ancestor of its programs");
        }
        supervisors.push(pid);
    }
    crewdeck.kill().unwrap();
    crewdeck.wait().unwrap();
    command.wait_for_none();
    job.wait_for_none();
    for supervisor in supervisors {
        let is_running = || {
            std::fs::read_to_string(format!("/proc/{supervisor}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z "))
        };
        wait_until("the end of the supervisor", || !is_running());
    }
}

#[test]
fn guard_command_is_hidden_and_rejects_direct_use() {
    let project = Project::new();
    let ran = project.run(&["guard"]);
    assert_eq!((ran.code(), ran.out().as_str()), (2, ""));
    assert!(
        ran.err().contains("is an internal command"),
        "{}",
        ran.err()
    );
    let help = project.run(&["--help"]).out();
    assert!(!help.contains("guard"), "{help}");
}
