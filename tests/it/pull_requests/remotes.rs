//! Which repository is pushed to, and to which server the text of the request goes.

use pretty_assertions::assert_eq;

use super::RemoteFixture;
use crate::common::fake_client::write_program;
use crate::common::repository::{commit, git};

/// Creates a bare repository in the folder of the remote, which git uses for URLs that begin with `address`.
fn add_repository(fixture: &RemoteFixture, folder: &str, address: &str) {
    let dir = fixture.remote.path().join(folder);
    std::fs::create_dir(&dir).unwrap();
    git(
        &dir,
        &[
            "init",
            "--quiet",
            "--bare",
            "--initial-branch=main",
            "tool.git",
        ],
    );
    let key = format!("url.{}/.insteadOf", dir.display());
    fixture.git(&["config", &key, address]);
}

#[test]
fn separate_push_url_is_read_and_pushed_to() {
    let fixture = RemoteFixture::github();
    add_repository(&fixture, "fork", "https://github.com/ann/");
    let push_url = "https://github.com/ann/tool.git";
    fixture.git(&["config", "remote.origin.pushurl", push_url]);
    let line = fixture.expect_refusal(&["1"]);
    assert!(
        line.contains("tool.git has no branch main to merge into"),
        "{line}"
    );
    fixture.git(&["push", "--quiet", push_url, "main"]);
    let done = fixture.json(&["1"]);
    let command = done["open_command"].as_array().unwrap();
    assert_eq!(command.last().unwrap(), "--repo=github.com/ann/tool");
    assert!(fixture.is_untouched());
    let fork = fixture.remote.path().join("fork/tool.git");
    let tip = fixture.git(&["rev-parse", "wt/task-1"]);
    assert_eq!(git(&fork, &["rev-parse", "wt/task-1"]), tip);
    // The second run finds what the first has pushed.
    fixture.expect_nothing(&["1"]);
    // Git would push to both.
    fixture.git(&[
        "config",
        "--add",
        "remote.origin.pushurl",
        "https://github.com/acme/tool.git",
    ]);
    fixture.client.write("list.json", "[]");
    let line = fixture.expect_refusal(&["1"]);
    assert!(
        line.contains("git pushes to 2 repositories for the remote origin"),
        "{line}"
    );
    fixture.git(&["config", "--unset-all", "remote.origin.pushurl"]);
    fixture.git(&["config", "remote.origin.mirror", "true"]);
    let line = fixture.expect_refusal(&["1"]);
    assert!(line.contains("the remote origin is a mirror"), "{line}");
    assert!(fixture.is_untouched());
}

#[test]
fn push_url_of_a_folder_has_no_service() {
    let fixture = RemoteFixture::github();
    let folder = fixture.remote.path().join("tool.git").display().to_string();
    fixture.git(&["config", "remote.origin.pushurl", &folder]);
    let line = fixture.expect_refusal(&["1"]);
    assert!(
        line.contains("is no repository at GitHub or GitLab"),
        "{line}"
    );
}

#[test]
fn remotes_of_one_repository_are_no_choice() {
    let fixture = RemoteFixture::github();
    fixture.git(&["remote", "rename", "origin", "a"]);
    fixture.git(&["remote", "add", "b", "https://github.com/acme/tool.git"]);
    assert_eq!(fixture.json(&["1", "--dry-run"])["remote"], "a");
    fixture.git(&[
        "remote",
        "set-url",
        "b",
        "https://github.com/acme/other.git",
    ]);
    let line = fixture.expect_refusal(&["1"]);
    assert!(
        line.contains("the repository has several remotes (a, b): name one with --remote"),
        "{line}"
    );
}

#[test]
fn base_with_unknown_commits_must_be_fetched_first() {
    let fixture = RemoteFixture::github();
    let other = tempfile::tempdir().unwrap();
    let url = fixture.remote.path().join("tool.git").display().to_string();
    git(other.path(), &["clone", "--quiet", &url, "."]);
    git(other.path(), &["config", "user.name", "Bob"]);
    git(other.path(), &["config", "user.email", "bob@example.org"]);
    commit(other.path(), "d.txt", "theirs\n");
    git(other.path(), &["push", "--quiet", "origin", "main"]);
    let before = fixture.remote_branches();
    let line = fixture.expect_refusal(&["1"]);
    assert!(
        line.contains("main of origin has commits that are not in this repository: run git fetch origin main first"),
        "{line}"
    );
    assert_eq!(fixture.remote_branches(), before);
    fixture.git(&["fetch", "--quiet", "origin", "main"]);
    fixture.ok(&["1"]);
}

#[test]
fn text_goes_to_no_other_server_than_the_commits() {
    for (address, host, expected) in [
        ("https://gitlab/acme/", None, "https://gitlab/acme/tool"),
        (
            "git@gitlab:acme/",
            Some("gitlab"),
            "https://gitlab/acme/tool",
        ),
        (
            "git@gitlab:acme/",
            Some("gitlab.corp.example"),
            "https://gitlab.corp.example/acme/tool",
        ),
        (
            "git@gitlab.com-work:acme/",
            Some("gitlab.com"),
            "https://gitlab.com/acme/tool",
        ),
    ] {
        let fixture = RemoteFixture::new("glab");
        fixture.client.write("new.json", "[]");
        fixture.client.write("printed", super::GITLAB_URL);
        fixture.add_remote("origin", address);
        // Without a host, SSH must not be asked.
        let host = host.map_or("exit 1".into(), |host| {
            format!("echo user git; echo hostname {host}")
        });
        write_program(&fixture.client.dir().join("ssh"), &host);
        fixture.ok(&["1"]);
        let args = fixture.client.read("args-create");
        assert!(
            args.ends_with(&format!("\n--repo={expected}\n"))
                && args.contains(&format!("\n--head={expected}\n")),
            "{address}: {args}"
        );
    }
    let fixture = RemoteFixture::new("gh");
    fixture.add_remote("origin", "git@github.com-work:acme/");
    for script in ["echo hostname github.com-work", "exit 1", "echo host x"] {
        write_program(&fixture.client.dir().join("ssh"), script);
        let line = fixture.expect_refusal(&["1"]);
        assert!(
            line.contains(
                "the server of github.com-work:acme/tool is not known: write the full name"
            ),
            "{line}"
        );
    }
    fixture.add_remote("posing", "git@github.com-mirror.example.org:acme/");
    let line = fixture.expect_refusal(&["1", "--remote", "posing"]);
    assert!(
        line.contains(
            "the name of github.com-mirror.example.org does not say whether it is GitHub or GitLab"
        ),
        "{line}"
    );
    assert!(fixture.is_untouched() && !fixture.has_opened());
}
