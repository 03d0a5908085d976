//! Real processes: what they leave behind, and that it is little.

use std::path::Path;
use std::time::Instant;

use super::*;

fn job(script: &str) -> Job {
    Job {
        argv: ["sh", "-c", script].map(String::from).to_vec(),
        dir: std::env::temp_dir(),
        timeout: Duration::from_secs(30),
        keep: 4096,
        guard: None,
        reach: Reach::default(),
    }
}

async fn report(script: &str) -> Report {
    run(&job(script), &CancellationToken::new(), |_| {})
        .await
        .unwrap()
}

/// A grandchild that would write a file after the job; gone when its pid is.
fn pid_in(file: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(file).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

async fn wait_until_gone(pid: Pid) {
    let began = Instant::now();
    while rustix::process::test_kill_process(pid).is_ok() {
        // A zombie whose parent is gone still counts until init has reaped it.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
            .unwrap_or_default();
        if stat.contains(") Z ") {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "process {pid:?} lives on"
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
            began.elapsed() < Duration::from_secs(10),
            "the grandchild never began"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_exit_code_and_both_outputs_are_told() {
    let seen = report("echo out; echo err >&2; exit 3").await;
    assert_eq!(seen.ended, Ended::Code(3));
    assert!(
        seen.output.contains("out\n") && seen.output.contains("err\n"),
        "{seen:?}"
    );
    let seen = report("kill -9 $$").await;
    assert_eq!(seen.ended, Ended::Signal(9));
}

#[tokio::test]
async fn much_output_is_bounded_with_a_mark_and_its_end_is_kept() {
    let seen = report("head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end").await;
    assert!(seen.output.len() < 5000, "{}", seen.output.len());
    assert!(seen.output.starts_with("xxx") && seen.output.ends_with("the end\n"));
    assert!(seen.output.contains("bytes cut here"), "{}", seen.output);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_shown_as_such() {
    let seen = report("printf 'a\\377\\376b'").await;
    assert_eq!(seen.output, "a\u{fffd}\u{fffd}b");
}

#[tokio::test]
async fn a_program_left_in_the_background_does_not_hold_the_job() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let began = Instant::now();
    let seen = report(&format!("sleep 60 & echo $! > {}; echo ok", file.display())).await;
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!((seen.ended, seen.output.as_str()), (Ended::Code(0), "ok\n"));
    assert_eq!(seen.leftovers, Leftovers::Killed);
    wait_until_gone(pid_in(&file).unwrap()).await;
}

#[tokio::test]
async fn the_time_out_ends_the_whole_group_and_keeps_what_was_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!(
        "echo before; sh -c 'trap \"\" TERM; echo $$ > {}; sleep 60; sleep 60'",
        file.display()
    );
    let job = Job {
        timeout: Duration::from_millis(800),
        ..job(&script)
    };
    let seen = run(&job, &CancellationToken::new(), |_| {}).await.unwrap();
    assert_eq!(
        (seen.ended, seen.output.as_str()),
        (Ended::TimedOut, "before\n")
    );
    wait_until_gone(pid_in(&file).unwrap()).await;
}

#[tokio::test]
async fn cancelling_and_dropping_end_the_group() {
    let dir = tempfile::tempdir().unwrap();
    for (name, by_token) in [("cancelled", true), ("dropped", false)] {
        let file = dir.path().join(name);
        let script = format!("sleep 60 & echo $! > {}; wait", file.display());
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let running = tokio::spawn(async move { run(&job(&script), &token, |_| {}).await });
        let pid = wait_for_pid(&file).await;
        if by_token {
            cancel.cancel();
            assert_eq!(running.await.unwrap().unwrap().ended, Ended::Cancelled);
        } else {
            running.abort();
            let _ = running.await;
        }
        wait_until_gone(pid).await;
    }
}

#[tokio::test]
async fn output_is_heard_while_the_job_runs() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let dir = tempfile::tempdir().unwrap();
    let go = dir.path().join("go");
    let script = format!(
        "echo early; while [ ! -e {} ]; do sleep 0.01; done; echo late",
        go.display()
    );
    let running = tokio::spawn(async move {
        run(&job(&script), &CancellationToken::new(), |bytes| {
            let _ = tell.send(bytes.to_vec());
        })
        .await
    });
    assert_eq!(told.recv().await.unwrap(), b"early\n");
    std::fs::write(&go, "").unwrap();
    assert_eq!(running.await.unwrap().unwrap().output, "early\nlate\n");
}

#[tokio::test]
async fn what_a_job_wrote_is_whole_however_late_it_is_read() {
    let whole = Job {
        keep: 100_000,
        ..job("printf %60000d 7")
    };
    let stop = CancellationToken::new();
    let runs = (0..200).map(|_| run(&whole, &stop, |_| {}));
    for report in futures::future::join_all(runs).await {
        assert_eq!(report.unwrap().output.len(), 60_000);
    }
}
