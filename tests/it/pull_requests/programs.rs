//! Which programs run at a push, what they get, and how the user stops them.

use std::path::Path;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;

use super::RemoteFixture;
use crate::common::fake_client::write_program;
use crate::common::project::RunResult;
use crate::common::wait::{wait_for, wait_until};

/// Writes a program `git` into `folder` that appends to the file `log` each `ls-remote` and `push` with the value of
/// `GH_TOKEN`, and then runs git.
fn write_git(folder: &Path, log: &Path) {
    let found = Command::new("sh").args(["-c", "command -v git"]).output();
    let git = String::from_utf8(found.unwrap().stdout).unwrap();
    let script = format!(
        "for word; do case $word in ls-remote|push) echo \"$word ${{GH_TOKEN-none}}\" >> '{}';; esac; done\n\
         exec {} \"$@\"",
        log.display(),
        git.trim()
    );
    write_program(&folder.join("git"), &script);
}

/// Writes the hook `pre-push`, which writes its environment into the file `hook-env` of the project.
fn write_hook(fixture: &RemoteFixture, folder: &str) {
    let folder = fixture.project.file(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let env = fixture.project.file(".git/hook-env");
    write_program(
        &folder.join("pre-push"),
        &format!("env > '{}'", env.display()),
    );
}

#[test]
fn tokens_reach_git_only_without_hooks() {
    let fixture = RemoteFixture::github();
    let log = fixture.client.dir().join("git-log");
    write_git(fixture.client.dir(), &log);
    let none = tempfile::tempdir().unwrap();
    let env = [("GH_TOKEN", "ours-and-secret")];
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let push = || {
        let _ = std::fs::remove_file(&log);
        let ran = fixture.run_with(&["1"], none.path(), &env);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        (read(&log), ran.err())
    };
    let with_token = "ls-remote ours-and-secret\npush ours-and-secret\n";
    assert_eq!(push(), (with_token.into(), String::new()));
    // A hook of the user runs what is in the project, so it gets no tokens.
    write_hook(&fixture, ".git/hooks");
    fixture.commit("c.txt");
    assert_eq!(
        push(),
        (
            "ls-remote ours-and-secret\npush none\n".into(),
            String::new()
        )
    );
    let hook_env = fixture.project.file(".git/hook-env");
    let found = read(&hook_env);
    assert!(
        found.contains("PATH=") && !found.contains("ours-and-secret"),
        "{found}"
    );
    std::fs::remove_file(&hook_env).unwrap();
    // Agents can change a hook of the project, so it does not run.
    fixture.git(&["config", "core.hooksPath", ".husky"]);
    write_hook(&fixture, ".husky");
    fixture.commit("d.txt");
    let (calls, err) = push();
    assert_eq!(calls, with_token);
    assert!(
        err.contains("hooks do not run, because agents can change ")
            && err.contains(".husky/pre-push: to run them"),
        "{err}"
    );
    assert!(!hook_env.exists());
}

#[test]
fn programs_of_the_project_get_no_tokens() {
    let fixture = RemoteFixture::github();
    let (bin, log) = (
        fixture.project.file("bin"),
        fixture.project.file(".git/log"),
    );
    std::fs::create_dir(&bin).unwrap();
    write_git(&bin, &log);
    let env = [("GH_TOKEN", "ours-and-secret")];
    // What the client starts is not from the project either.
    let script = format!(
        "command -v git > \"$(dirname \"$0\")/found\"\n{}",
        super::SCRIPT
    );
    write_program(&fixture.client.dir().join("gh"), &script);
    let ran = fixture.run_with(&["1"], &bin, &env);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(!log.exists(), "{}", std::fs::read_to_string(&log).unwrap());
    let found = fixture.client.read("found");
    assert!(!found.starts_with(&bin.display().to_string()), "{found}");
    // Without another git, nothing is pushed.
    let only = tempfile::tempdir().unwrap();
    for name in ["sh", "cat", "cp", "dirname", "env"] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {name}")])
            .output();
        let path = String::from_utf8(found.unwrap().stdout).unwrap();
        std::os::unix::fs::symlink(path.trim(), only.path().join(name)).unwrap();
    }
    fixture.commit("c.txt");
    let path = [bin.as_path(), fixture.client.dir(), only.path()];
    let path = std::env::join_paths(path).unwrap();
    let mut command = fixture.project.command(&["worktree", "pr", "1"]);
    let ran = RunResult(command.env("PATH", path).output().unwrap());
    assert_eq!(ran.code(), 1, "{}", ran.err());
    assert!(
        ran.err()
            .contains("bin/git is in this project, which must not decide what runs"),
        "{}",
        ran.err()
    );
}

#[test]
fn hooks_get_the_variables_of_pass_env() {
    let fixture = RemoteFixture::github();
    fixture
        .project
        .write_user_settings("pass_env = [\"OP_SERVICE_ACCOUNT_TOKEN\"]\n");
    write_hook(&fixture, ".git/hooks");
    let env = [
        ("OP_SERVICE_ACCOUNT_TOKEN", "allowed-for-hooks"),
        ("AWS_SECRET_ACCESS_KEY", "not-allowed-at-all"),
    ];
    let ran = fixture.run_with(&["1"], fixture.client.dir(), &env);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let found = std::fs::read_to_string(fixture.project.file(".git/hook-env")).unwrap();
    assert!(
        found.contains("OP_SERVICE_ACCOUNT_TOKEN=allowed-for-hooks")
            && !found.contains("not-allowed-at-all"),
        "{found}"
    );
}

#[test]
fn values_of_the_environment_are_not_published() {
    let fixture = RemoteFixture::github();
    let secret = "correct-horse-battery";
    let description = format!("Log in with {secret}.");
    fixture.set_task(&serde_json::json!({"description": description}));
    let env = [("ACME_TOKEN", secret)];
    let ran = fixture.run_with(&["1"], fixture.client.dir(), &env);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let body = fixture.client.read("body");
    assert!(
        body.contains("Log in with [redacted: ACME_TOKEN]."),
        "{body}"
    );
}

#[test]
fn interrupt_stops_the_push_and_its_hooks() {
    for signal in ["INT", "TERM"] {
        let fixture = RemoteFixture::github();
        let hooks = fixture.project.file(".git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        let pid_file = fixture.project.file(".git/hook-pid");
        let script = format!("echo $$ > '{}'; sleep 600; exit 0", pid_file.display());
        write_program(&hooks.join("pre-push"), &script);
        let path = format!(
            "{}:{}",
            fixture.client.dir().display(),
            std::env::var("PATH").unwrap()
        );
        let running = fixture
            .project
            .command(&["worktree", "pr", "1"])
            .env("PATH", path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let hook = wait_for("the hook runs", || {
            let text = std::fs::read_to_string(&pid_file).ok()?;
            text.trim().parse::<u32>().ok()
        });
        let send = |signal: &str, process: u32| {
            let args = [format!("-{signal}"), process.to_string()];
            let ran = Command::new("kill")
                .args(args)
                .stderr(Stdio::null())
                .status();
            ran.unwrap().success()
        };
        assert!(send(signal, running.id()));
        let ran = RunResult(running.wait_with_output().unwrap());
        assert_eq!(ran.code(), 130, "{signal}: {}", ran.err());
        assert!(
            ran.err()
                .contains("interrupted: git push origin failed: it was stopped")
                && ran
                    .err()
                    .ends_with("To continue, run: crewdeck worktree pr 1\n"),
            "{}",
            ran.err()
        );
        wait_until("the hook has ended", || {
            let stat = std::fs::read_to_string(format!("/proc/{hook}/stat")).unwrap_or_default();
            !send("0", hook) || stat.contains(") Z ")
        });
        assert!(fixture.is_untouched() && !fixture.has_opened());
    }
}
