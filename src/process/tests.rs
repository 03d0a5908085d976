//! Runs real processes, and checks their output and that no process is left behind.

use std::path::Path;
use std::time::Instant;

use super::*;

fn job(script: &str) -> CommandSpec {
    CommandSpec {
        argv: ["sh", "-c", script].map(String::from).to_vec(),
        dir: std::env::temp_dir(),
        timeout: Duration::from_secs(30),
        keep: 4096,
        supervisor: None,
        reach: Reach::default(),
        added: AddedEnvironment::default(),
    }
}

async fn run_script(script: &str) -> JobReport {
    run(&job(script), &CancellationToken::new(), |_| {})
        .await
        .unwrap()
}

/// Reads a process id that a script wrote to a file; `None` if the file is missing or incomplete.
fn pid_in(file: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(file).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

async fn wait_until_gone(pid: Pid) {
    let began = Instant::now();
    while rustix::process::test_kill_process(pid).is_ok() {
        // An orphaned zombie still has an entry until init reaps it.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
            .unwrap_or_default();
        if stat.contains(") Z ") {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "process {pid:?} is still running"
        );
        tokio::task::yield_now().await;
    }
}

async fn wait_for_pid(file: &Path) -> Pid {
    let began = Instant::now();
    loop {
        if let Some(pid) = pid_in(file) {
            return pid;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the grandchild did not start"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn exit_code_and_both_outputs_are_reported() {
    let report = run_script("echo out; echo err >&2; exit 3").await;
    assert_eq!(report.ended, JobExit::Code(3));
    assert!(
        report.output.contains("out\n") && report.output.contains("err\n"),
        "{report:?}"
    );
    let report = run_script("kill -9 $$").await;
    assert_eq!(report.ended, JobExit::Signal(9));
}

#[tokio::test]
async fn long_output_is_cut_with_a_marker_and_keeps_its_end() {
    let report = run_script("head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end").await;
    assert!(report.output.len() < 5000, "{}", report.output.len());
    assert!(report.output.starts_with("xxx") && report.output.ends_with("the end\n"));
    assert!(
        report.output.contains("bytes cut here"),
        "{}",
        report.output
    );
}

#[tokio::test]
async fn invalid_utf8_becomes_replacement_characters() {
    let report = run_script("printf 'a\\377\\376b'").await;
    assert_eq!(report.output, "a\u{fffd}\u{fffd}b");
}

#[tokio::test]
async fn background_process_does_not_delay_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let began = Instant::now();
    let report = run_script(&format!(
        "sleep 600 & echo $! > {}; echo ok",
        file.display()
    ))
    .await;
    assert!(began.elapsed() < Duration::from_secs(120));
    assert_eq!(
        (report.ended, report.output.as_str()),
        (JobExit::Code(0), "ok\n")
    );
    assert!(report.had_leftovers);
    wait_until_gone(pid_in(&file).unwrap()).await;
}

#[tokio::test]
async fn timeout_kills_the_group_and_keeps_its_output() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!(
        "echo before; sh -c 'trap \"\" TERM; echo $$ > {}; sleep 60; sleep 60'",
        file.display()
    );
    let job = CommandSpec {
        timeout: Duration::from_millis(800),
        ..job(&script)
    };
    let report = run(&job, &CancellationToken::new(), |_| {}).await.unwrap();
    assert_eq!(
        (report.ended, report.output.as_str()),
        (JobExit::TimedOut, "before\n")
    );
    wait_until_gone(pid_in(&file).unwrap()).await;
}

#[tokio::test]
async fn cancel_and_drop_kill_the_group() {
    let dir = tempfile::tempdir().unwrap();
    for (name, by_token) in [("cancelled", true), ("dropped", false)] {
        let file = dir.path().join(name);
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let running = tokio::spawn(async move { run(&job(&script), &token, |_| {}).await });
        let pid = wait_for_pid(&file).await;
        if by_token {
            cancel.cancel();
            assert_eq!(running.await.unwrap().unwrap().ended, JobExit::Cancelled);
        } else {
            running.abort();
            let _ = running.await;
        }
        wait_until_gone(pid).await;
    }
}

#[tokio::test]
async fn output_is_streamed_while_the_job_runs() {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let dir = tempfile::tempdir().unwrap();
    let go = dir.path().join("go");
    let script = format!(
        "echo early; while [ ! -e {} ]; do sleep 0.01; done; echo late",
        go.display()
    );
    let running = tokio::spawn(async move {
        run(&job(&script), &CancellationToken::new(), |bytes| {
            let _ = sender.send(bytes.to_vec());
        })
        .await
    });
    assert_eq!(receiver.recv().await.unwrap(), b"early\n");
    std::fs::write(&go, "").unwrap();
    assert_eq!(running.await.unwrap().unwrap().output, "early\nlate\n");
}

#[tokio::test]
async fn output_is_complete_when_read_after_exit() {
    let whole = CommandSpec {
        keep: 100_000,
        ..job("printf %60000d 7")
    };
    let stop = CancellationToken::new();
    let runs = (0..200).map(|_| run(&whole, &stop, |_| {}));
    for report in futures::future::join_all(runs).await {
        assert_eq!(report.unwrap().output.len(), 60_000);
    }
}
