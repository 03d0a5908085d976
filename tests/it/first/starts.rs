//! New starts of the dashboard, from its first page: what is not lost in between, and a git that takes its time.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::first::{git, home, leave, nowhere, open, press, repository};

/// A git that does not commit before `go-on` is there, in a folder to be looked into first. It notes who it is.
fn slow_git(project: &Project) -> String {
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("git"));
    let real = real.into_iter().find(|git| git.exists()).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' commit '*)\n echo $$ > '{0}/asked'\n while [ ! -e '{0}/go-on' ]; do sleep 0.05; done;;\nesac\nexec '{1}' \"$@\"\n",
        project.path().display(),
        real.display()
    );
    let file = project.write("bin/git", &script);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", project.file("bin").display())
}

/// Waits until the slow git was asked. Its process.
fn asked(tools: &Project) -> String {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let pid = std::fs::read_to_string(tools.file("asked")).unwrap_or_default();
        if pid.ends_with('\n') {
            return pid.trim().into();
        }
        assert!(Instant::now() < until, "git was never asked to commit");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(name: &str, pid: u32) {
    let sent = std::process::Command::new("kill")
        .args([name, &pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// A repository without a commit, a dashboard in it, and the slow git it uses.
fn without_a_commit() -> (Project, Project, tempfile::TempDir, Screen) {
    let (project, tools) = (Project::git(), Project::new());
    let home = home(&project);
    let script = home.path().join("rules.yaml");
    std::fs::write(&script, "rules: [{ say: fine }]\n").unwrap();
    let provider = format!("script:{}", script.display());
    let path = slow_git(&tools);
    let environment = [("PATH", path.as_str())];
    let mut screen = open(
        &project,
        home.path(),
        &["--provider", &provider],
        &environment,
    );
    screen.wait_for("create empty first commit");
    press(&mut screen, "g");
    screen.wait_for("Creating the first commit…");
    (project, tools, home, screen)
}

#[test]
fn a_git_that_takes_its_time_holds_no_key_up() {
    let (project, tools, _home, mut screen) = without_a_commit();
    asked(&tools);
    screen.press("ia draft", "│ a draft");
    tools.write("go-on", "");
    let text = screen.wait_for("now a git repository with a commit");
    assert!(text.contains("│ a draft"), "{text}");
    assert_eq!(git(&project, &["log", "--format=%s"]), "Start\n");
    screen.send("\x03");
    leave(screen);
}

#[test]
fn a_git_that_takes_its_time_can_be_stopped_and_goes_with_the_dashboard() {
    let (project, tools, _home, mut screen) = without_a_commit();
    let is_gone = |pid: &str| {
        let until = Instant::now() + Duration::from_secs(30);
        while Path::new(&format!("/proc/{pid}")).exists() {
            assert!(Instant::now() < until, "git {pid} lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let pid = asked(&tools);
    screen.press("r", "This git repository has no commit yet.");
    is_gone(&pid);
    std::fs::remove_file(tools.file("asked")).unwrap();
    screen.wait_for("Esc g  create empty first commit");
    press(&mut screen, "g");
    let pid = asked(&tools);
    signal("-TERM", screen.pid());
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    is_gone(&pid);
    assert!(!project.file(".git/refs/heads/master").exists());
}

#[test]
fn a_signal_while_the_demo_is_made_ends_it() {
    for name in ["-TERM", "-HUP"] {
        let (project, tools) = (repository(), Project::new());
        let (home, path) = (home(&project), slow_git(&tools));
        let mut screen = open(&project, home.path(), &[], &[("PATH", path.as_str())]);
        screen.wait_for("start the demo in a temporary folder");
        screen.send("d");
        asked(&tools);
        signal(name, screen.pid());
        let (status, is_clean) = screen.end();
        assert!(
            status.success() && is_clean,
            "{name}: {status:?} {is_clean}"
        );
        tools.write("go-on", "");
    }
}

#[test]
fn a_signal_between_two_starts_ends_the_second() {
    let project = repository();
    let home = home(&project);
    for (round, name) in ["-TERM", "-HUP"].into_iter().cycle().take(16).enumerate() {
        let mut screen = open(&project, home.path(), &[], &[]);
        screen.wait_for("look for a server and settings again");
        screen.send("r");
        // Wherever it falls.
        std::thread::sleep(Duration::from_micros(500 * round as u64));
        signal(name, screen.pid());
        let (status, is_clean) = screen.end();
        assert!(
            status.success() && is_clean,
            "{round}: {status:?} {is_clean}"
        );
    }
}

#[test]
fn a_mouse_that_was_given_to_the_terminal_stays_there() {
    let (project, environment) = (repository(), [("OPENAI_BASE_URL", nowhere())]);
    let (home, environment) = (home(&project), crate::first::borrowed(&environment));
    let mut screen = open(
        &project,
        home.path(),
        &["--provider", "openai"],
        &environment,
    );
    screen.wait_for("r  ask the server again");
    screen.press("M", "The mouse is the terminal's again");
    screen.press("r", "Checked again: nothing has changed.");
    let raw = screen.raw();
    let times = |what: &[u8]| raw.windows(what.len()).filter(|w| *w == what).count();
    assert_eq!((times(b"\x1b[?1000h"), times(b"\x1b[?1000l")), (1, 1));
    leave(screen);
}
