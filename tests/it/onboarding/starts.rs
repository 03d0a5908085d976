//! Restarts of the dashboard from its setup page: what survives them, and how a slow git behaves.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::common::wait::{wait_for, wait_until};
use crate::onboarding::{
    git, home, press_page_key, quit, repository, start_dashboard, unused_address,
};

/// Writes a program `git` whose commits wait for the file `go-on`. Before the wait, it writes its process id to the
/// file `asked`. Returns a value for `PATH` by which it is found first.
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

/// Waits until the program of [`slow_git`] has been asked to commit, and returns its process id.
fn wait_for_commit(git_folder: &Project) -> String {
    wait_for("a commit by git", || {
        let pid = std::fs::read_to_string(git_folder.file("asked")).ok()?;
        pid.strip_suffix('\n').map(String::from)
    })
}

fn signal(name: &str, pid: u32) {
    let sent = std::process::Command::new("kill")
        .args([name, &pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Opens a dashboard in a repository without a commit, and lets it start the first commit with the program of
/// [`slow_git`]. Returns the project, the folder with that program, the home, and the screen.
fn start_first_commit() -> (Project, Project, tempfile::TempDir, Screen) {
    let (project, git_folder) = (Project::git(), Project::new());
    let home = home(&project);
    let script = home.path().join("rules.yaml");
    std::fs::write(&script, "rules: [{ say: fine }]\n").unwrap();
    let provider = format!("script:{}", script.display());
    let path = slow_git(&git_folder);
    let environment = [("PATH", path.as_str())];
    let mut screen = start_dashboard(
        &project,
        home.path(),
        &["--provider", &provider],
        &environment,
    );
    screen.wait_for("create empty first commit");
    press_page_key(&mut screen, "g");
    screen.wait_for("Creating the first commit…");
    (project, git_folder, home, screen)
}

#[test]
fn slow_git_does_not_block_keys() {
    let (project, git_folder, _home, mut screen) = start_first_commit();
    wait_for_commit(&git_folder);
    screen.send_and_wait_for("ia draft", "│ a draft");
    git_folder.write("go-on", "");
    let text = screen.wait_for("now a git repository with a commit");
    assert!(text.contains("│ a draft"), "{text}");
    assert_eq!(git(&project, &["log", "--format=%s"]), "Start\n");
    screen.send("\x03");
    quit(screen);
}

#[test]
fn slow_git_is_stopped_by_key_and_on_exit() {
    let (project, git_folder, _home, mut screen) = start_first_commit();
    let wait_for_exit = |pid: &str| {
        wait_until("the end of git", || {
            !Path::new(&format!("/proc/{pid}")).exists()
        });
    };
    let pid = wait_for_commit(&git_folder);
    screen.send_and_wait_for("r", "This git repository has no commit yet.");
    wait_for_exit(&pid);
    std::fs::remove_file(git_folder.file("asked")).unwrap();
    screen.wait_for("Esc g  create empty first commit");
    press_page_key(&mut screen, "g");
    let pid = wait_for_commit(&git_folder);
    signal("-TERM", screen.pid());
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    wait_for_exit(&pid);
    assert!(!project.file(".git/refs/heads/master").exists());
}

#[test]
fn signal_during_demo_setup_exits() {
    for name in ["-TERM", "-HUP"] {
        let (project, git_folder) = (repository(), Project::new());
        let (home, path) = (home(&project), slow_git(&git_folder));
        let mut screen = start_dashboard(&project, home.path(), &[], &[("PATH", path.as_str())]);
        screen.wait_for("start the demo (temporary folder");
        screen.send("d");
        wait_for_commit(&git_folder);
        signal(name, screen.pid());
        let (status, is_clean) = screen.wait_for_exit();
        assert!(
            status.success() && is_clean,
            "{name}: {status:?} {is_clean}"
        );
        git_folder.write("go-on", "");
    }
}

#[test]
fn signal_between_restarts_exits() {
    let project = repository();
    let home = home(&project);
    for (round, name) in ["-TERM", "-HUP"].into_iter().cycle().take(16).enumerate() {
        let mut screen = start_dashboard(&project, home.path(), &[], &[]);
        screen.wait_for("look for a server and settings again");
        screen.send("r");
        // Any moment of the restart is valid.
        std::thread::sleep(Duration::from_micros(500 * round as u64));
        signal(name, screen.pid());
        let (status, is_clean) = screen.wait_for_exit();
        assert!(
            status.success() && is_clean,
            "{round}: {status:?} {is_clean}"
        );
    }
}

#[test]
fn released_mouse_stays_released_after_a_restart() {
    let (project, environment) = (repository(), [("OPENAI_BASE_URL", unused_address())]);
    let (home, environment) = (
        home(&project),
        crate::onboarding::borrow_values(&environment),
    );
    let mut screen = start_dashboard(
        &project,
        home.path(),
        &["--provider", "openai"],
        &environment,
    );
    screen.wait_for("r  ask the server again");
    screen.send_and_wait_for("M", "Mouse off");
    screen.send_and_wait_for("r", "Checked again: nothing has changed.");
    let raw = screen.raw();
    let count = |what: &[u8]| raw.windows(what.len()).filter(|w| *w == what).count();
    assert_eq!((count(b"\x1b[?1000h"), count(b"\x1b[?1000l")), (1, 1));
    quit(screen);
}
