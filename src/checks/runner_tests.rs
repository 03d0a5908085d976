//! Tests of single checks.

use super::*;

fn runner(root: &Path, at_once: usize) -> CheckRunner {
    let redactor = Redactor::default();
    CheckRunner::new(root, WorktreeCommands::default(), redactor, at_once, || {
        Timestamp(9.0)
    })
}

fn target(dir: &Path, tree: &str) -> CheckTarget {
    CheckTarget {
        by: Name::member("bob").unwrap(),
        place: CheckPlace::Folder(dir.to_path_buf()),
        tree: tree.into(),
    }
}

fn spec(run: &str) -> CheckSpec {
    CheckSpec {
        timeout_s: 20,
        ..CheckSpec::acceptance(run)
    }
}

/// Returns a command that counts its runs in the file `runs` of its directory, then runs `then`.
fn counting(then: &str) -> String {
    format!("echo run >> runs; {then}")
}

fn runs(dir: &Path) -> usize {
    let text = std::fs::read_to_string(dir.join("runs")).unwrap_or_default();
    text.lines().count()
}

#[tokio::test]
async fn nothing_runs_twice_on_the_same_content() {
    let dir = tempfile::tempdir().unwrap();
    let runner = runner(dir.path(), 4);
    let cancel = CancellationToken::new();
    let (check, here) = (
        spec(&counting("sleep 0.2; false")),
        target(dir.path(), "t1"),
    );
    // Two at the same time, and one later.
    let (first, second) = tokio::join!(
        runner.run(&check, &here, &cancel),
        runner.run(&check, &here, &cancel)
    );
    let third = runner.run(&check, &here, &cancel).await;
    assert_eq!(first.record.outcome, CheckOutcome::Red);
    assert!(first.excerpt.contains("[exit code 1]"), "{first:?}");
    assert_eq!((&second, &third), (&first, &first));
    assert_eq!(runs(dir.path()), 1);
    // Other content, and content without a hash, is checked.
    runner.run(&check, &target(dir.path(), "t2"), &cancel).await;
    runner.run(&check, &target(dir.path(), ""), &cancel).await;
    runner.run(&check, &target(dir.path(), ""), &cancel).await;
    assert_eq!(runs(dir.path()), 4);
    runner.forget(&check, "t1").await;
    runner.run(&check, &here, &cancel).await;
    assert_eq!(runs(dir.path()), 5);
}

#[tokio::test]
async fn retry_repeats_a_failed_run_once() {
    let dir = tempfile::tempdir().unwrap();
    let runner = runner(dir.path(), 1);
    let cancel = CancellationToken::new();
    let mut check = spec(&counting("test $(wc -l < runs) -gt 1"));
    check.retry = true;
    let run = runner.run(&check, &target(dir.path(), "t"), &cancel).await;
    assert_eq!(run.record.outcome, CheckOutcome::Green);
    assert_eq!(runs(dir.path()), 2);
}

#[tokio::test]
async fn time_limit_and_missing_programs_say_nothing_about_the_content() {
    let dir = tempfile::tempdir().unwrap();
    let runner = runner(dir.path(), 2);
    let cancel = CancellationToken::new();
    let mut slow = spec("sleep 60");
    slow.timeout_s = 1;
    let run = runner.run(&slow, &target(dir.path(), "t"), &cancel).await;
    assert_eq!(run.record.outcome, CheckOutcome::TimedOut);
    assert!(run.excerpt.contains("time limit of 1 s"), "{run:?}");
    let missing = spec("no-such-program-anywhere");
    let run = runner
        .run(&missing, &target(dir.path(), "t"), &cancel)
        .await;
    assert_eq!(run.record.outcome, CheckOutcome::NotStarted);
    for check in [&slow, &missing] {
        assert_eq!(runner.find(check, &target(dir.path(), "t")).await, None);
    }
}

#[tokio::test]
async fn cancelled_check_is_stopped_and_leaves_no_result() {
    let dir = tempfile::tempdir().unwrap();
    let runner = runner(dir.path(), 1);
    let cancel = CancellationToken::new();
    let (check, here) = (spec("sleep 60"), target(dir.path(), "t"));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    };
    let (run, ()) = tokio::join!(runner.run(&check, &here, &cancel), stop);
    assert_eq!(run.record.outcome, CheckOutcome::Stopped);
    assert_eq!(runner.find(&check, &here).await, None);
}

#[tokio::test]
async fn output_is_bounded_in_the_log_and_the_excerpt() {
    let dir = tempfile::tempdir().unwrap();
    let runner = runner(dir.path(), 1);
    let cancel = CancellationToken::new();
    let check = spec("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo error: at the end; false");
    let run = runner.run(&check, &target(dir.path(), "t"), &cancel).await;
    let log = std::fs::read_to_string(dir.path().join(&run.record.log)).unwrap();
    assert!(log.len() < CHECK_LOG_MAX + 1000, "{}", log.len());
    assert!(log.contains("bytes cut here"));
    assert!(run.excerpt.len() < 5000);
    assert!(run.excerpt.contains("error: at the end"), "{}", run.excerpt);
}

#[tokio::test]
async fn check_outside_of_a_checkout_has_a_temporary_cache_and_ports() {
    let dir = tempfile::tempdir().unwrap();
    let runner = runner(dir.path(), 1);
    let cancel = CancellationToken::new();
    let check = spec(
        "test -n \"$CREWDECK_PORT\" && mkdir \"$CREWDECK_CACHE/target\" && echo \"$CREWDECK_CACHE\" > cache",
    );
    let run = runner.run(&check, &target(dir.path(), ""), &cancel).await;
    assert_eq!(run.record.outcome, CheckOutcome::Green, "{run:?}");
    let cache = std::fs::read_to_string(dir.path().join("cache")).unwrap();
    assert!(cache.contains("crewdeck-check-"), "{cache}");
    assert!(!Path::new(cache.trim()).exists());
}
