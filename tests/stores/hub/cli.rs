//! The subcommands with `--hub`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::NatsServer;

fn crewdeck(dir: &Path, url: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(["--hub", url])
        .args(args)
        .current_dir(dir)
        .env("XDG_CONFIG_HOME", dir.join("config"))
        .env_remove("CREWDECK_HUB_USER")
        .output()
        .unwrap()
}

/// Runs a subcommand that succeeds, and returns what it prints.
fn run(dir: &Path, url: &str, args: &[&str]) -> String {
    let output = crewdeck(dir, url, args);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(dir: &Path, url: &str, args: &[&str]) -> Value {
    let args = [&["--json"], args].concat();
    serde_json::from_str(&run(dir, url, &args)).unwrap()
}

/// Runs a subcommand that fails, and returns the line that it prints.
fn fail(dir: &Path, url: &str, args: &[&str]) -> String {
    let output = crewdeck(dir, url, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    assert_eq!(output.stdout, b"");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn verbs_in_two_directories_work_on_one_crew() {
    let server = NatsServer::start("");
    let url = &format!("{}/web", server.url());
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (here, there) = (here.path(), there.path());
    run(
        here,
        url,
        &["task", "add", "Write the parser", "--tag", "rust"],
    );
    run(there, url, &["task", "add", "Test it", "--blocked-by", "1"]);
    let tasks = json(here, url, &["task", "list"]);
    assert_eq!(tasks.as_array().unwrap().len(), 2);
    assert_eq!(tasks[1]["blockedBy"][0], 1);
    let refused = fail(there, url, &["task", "claim", "2", "--as", "bob"]);
    assert!(refused.contains("blocked by #1"), "{refused}");
    let done = json(here, url, &["task", "done", "1", "--as", "user"]);
    assert_eq!(done["status"], "completed");
    let claimed = json(there, url, &["task", "claim", "--as", "bob"]);
    assert_eq!(
        (&claimed["id"], &claimed["owner"]),
        (&2.into(), &"bob".into())
    );
    let nothing = crewdeck(here, url, &["task", "claim", "--as", "carol"]);
    assert_eq!(nothing.status.code(), Some(3));
    run(
        here,
        url,
        &["task", "edit", "2", "--subject", "Test it well"],
    );
    run(there, url, &["task", "release", "2", "--as", "bob"]);
    run(here, url, &["task", "rm", "2"]);
    assert_eq!(json(there, url, &["task", "add", "Third"])["id"], 3);

    run(
        here,
        url,
        &["mail", "send", "lead", "hello", "--from", "user"],
    );
    let listed = json(there, url, &["mail", "list", "lead"]);
    assert_eq!(listed[0]["content"], "hello");
    let read = json(there, url, &["mail", "read", "lead"]);
    assert_eq!(read.as_array().unwrap().len(), 1);
    assert_eq!(
        json(here, url, &["mail", "read", "lead"]),
        serde_json::json!([])
    );
    let unknown = fail(here, url, &["mail", "send", "erin", "hello"]);
    assert!(unknown.contains("erin"), "{unknown}");
    assert_eq!(json(here, url, &["team", "list"]), serde_json::json!([]));

    // Another crew on the same server has a board of its own.
    let other = &format!("{}/other", server.url());
    assert_eq!(json(here, other, &["task", "list"]), serde_json::json!([]));
    // Nothing is created in the directory.
    let left: Vec<_> = std::fs::read_dir(here).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let list = "[[checks]]\nname = \"test\"\nrun = \"true\"\n";
    std::fs::create_dir(here.join(".crewdeck")).unwrap();
    std::fs::create_dir(here.join("config")).unwrap();
    std::fs::create_dir(here.join("config/crewdeck")).unwrap();
    std::fs::write(here.join("config/crewdeck/config.toml"), list).unwrap();
    let refused = fail(here, url, &["task", "done", "3", "--as", "user"]);
    assert!(
        refused.contains("checks do not run with --hub"),
        "{refused}"
    );
    // It does not advise a way around the checks.
    assert!(!refused.contains("outside"), "{refused}");
}

#[test]
fn wrong_uses_of_the_option_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let url = &format!("nats://127.0.0.1:{}", super::free_port());
    for (url, args, hint) in [
        (url.as_str(), &["task", "list"][..], "cannot be reached"),
        (url, &["worktree", "list"], "leave it out"),
        (url, &["doctor"], "leave it out"),
        ("http://a", &["task", "list"], "nats://"),
        (url, &["task", "add", "a", "--accept", "true"], "--accept"),
    ] {
        let error = fail(dir, url, args);
        assert!(error.contains(hint), "{args:?}: {error}");
    }
    std::fs::create_dir(dir.join(".crewdeck")).unwrap();
    let settings = "[hub]\nuser = \"bob\"\n";
    std::fs::write(dir.join(".crewdeck/config.toml"), settings).unwrap();
    let error = fail(dir, url, &["task", "list"]);
    assert!(
        error.contains("a project cannot choose how you log in"),
        "{error}"
    );
}
