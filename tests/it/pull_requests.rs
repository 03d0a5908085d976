//! `crewdeck worktree pr` with a repository in a folder as the remote, and with fake clients of GitHub and GitLab.

#[cfg(target_os = "linux")]
mod agents;
mod programs;
mod refusals;
mod remotes;
mod unfinished;

use crewdeck::domain::ids::TaskId;
use crewdeck::store::{NewWorktree, Worktrees};
use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::common::fake_client::FakeClient;
use crate::common::project::{Project, RunResult};
use crate::common::repository::{NOW, commit, git};

/// Lists the requests of the file `list.json`. Records the arguments of each verb in `args-VERB`, and the standard input in
/// `body`. Opens the request of the file `new.json` and then prints `printed`, unless the file `fail` says why it fails.
const SCRIPT: &str = r#"
dir=$(dirname "$0")
printf '%s\n' "$@" > "$dir/args-$2"
case "$2" in
    list)
        cat "$dir/list.json";;
    create)
        cat > "$dir/body"
        if [ -e "$dir/fail" ]; then cat "$dir/fail" >&2; exit 1; fi
        cp "$dir/new.json" "$dir/list.json"
        cat "$dir/printed";;
esac
"#;

const URL: &str = "https://github.com/acme/tool/pull/7";
const GITLAB_URL: &str = "https://git.example.org/acme/group/tool/-/merge_requests/7";

/// A project with a worktree of task 1 that has one commit, and a remote with the branch `main`.
struct RemoteFixture {
    project: Project,
    /// The folder of the remote repository `tool.git`.
    remote: tempfile::TempDir,
    client: FakeClient,
}

impl RemoteFixture {
    /// Creates a fixture whose remote `origin` has an address at GitHub.
    fn github() -> RemoteFixture {
        let fixture = RemoteFixture::new("gh");
        let open = json!([{"url": URL, "state": "OPEN", "headRefName": "wt/task-1", "headRefOid": "",
            "isCrossRepository": false, "baseRefName": "main", "isDraft": false}]);
        fixture.client.write("new.json", &open.to_string());
        fixture.client.write("printed", &format!("{URL}\n"));
        fixture.add_remote("origin", "https://github.com/acme/");
        fixture
    }

    /// Creates a fixture without a remote, with the client `name`. The task is completed.
    fn new(name: &str) -> RemoteFixture {
        let project = Project::new();
        let root = project.path();
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        git(root, &["config", "user.name", "Ada"]);
        git(root, &["config", "user.email", "ada@example.org"]);
        commit(root, "a.txt", "one\n");
        project.json(&["task", "add", "Write it"]);
        let new = NewWorktree {
            task: TaskId(1),
            subject: "Write it".into(),
            owner: "alice".into(),
            ..NewWorktree::default()
        };
        Worktrees::open(root).create(&new, NOW).unwrap();
        commit(&root.join(".worktrees/task-1"), "b.txt", "two\n");
        let remote = tempfile::tempdir().unwrap();
        let bare = [
            "init",
            "--quiet",
            "--bare",
            "--initial-branch=main",
            "tool.git",
        ];
        git(remote.path(), &bare);
        let client = FakeClient::new(name, SCRIPT);
        client.write("list.json", "[]");
        let fixture = RemoteFixture {
            project,
            remote,
            client,
        };
        fixture.set_task(&json!({"status": "completed"}));
        fixture
    }

    /// Adds a remote whose URL begins with `address`, which git maps to the folder of the remote repository, and pushes
    /// `main`.
    fn add_remote(&self, name: &str, address: &str) {
        let folder = format!("url.{}/.insteadOf", self.remote.path().display());
        self.git(&["config", &folder, address]);
        self.git(&["remote", "add", name, &format!("{address}tool.git")]);
        self.git(&["push", "--quiet", name, "main"]);
    }

    fn git(&self, args: &[&str]) -> String {
        git(self.project.path(), args)
    }

    /// Commits a change of the file `file` in the worktree and returns the commit.
    fn commit(&self, file: &str) -> String {
        let dir = self.project.file(".worktrees/task-1");
        commit(&dir, file, "more\n");
        git(&dir, &["rev-parse", "HEAD"])
    }

    /// Returns the branches of the remote repository, each with its last commit, one per line.
    fn remote_branches(&self) -> String {
        let dir = self.remote.path().join("tool.git");
        git(&dir, &["for-each-ref", "--format=%(refname) %(objectname)"])
    }

    /// Returns whether the remote repository has only the branch `main`.
    fn is_untouched(&self) -> bool {
        let main = self.git(&["rev-parse", "main"]);
        self.remote_branches() == format!("refs/heads/main {main}")
    }

    fn run(&self, args: &[&str]) -> RunResult {
        let args = [&["worktree", "pr"], args].concat();
        self.client.run(&self.project, &args)
    }

    /// Runs `worktree pr`, which must succeed, and returns its output.
    fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        ran.out()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[args, &["--json"]].concat())).unwrap()
    }

    /// Runs `worktree pr`, which must fail, and returns its line on standard error.
    fn expect_refusal(&self, args: &[&str]) -> String {
        let args = [&["worktree", "pr"], args].concat();
        self.client.expect_refusal(&self.project, &args)
    }

    /// Runs `worktree pr`, which must find nothing to do, and returns its output.
    fn expect_nothing(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code(), ran.err().as_str()), (3, ""), "{}", ran.out());
        ran.out()
    }

    /// Runs `worktree pr` with further environment variables and with `first` before the folders of `PATH`.
    fn run_with(&self, args: &[&str], first: &Path, env: &[(&str, &str)]) -> RunResult {
        let mut command = self.project.command(&["worktree", "pr"]);
        let path = std::env::var("PATH").unwrap();
        let client = self.client.dir().display();
        let path = format!("{}:{client}:{path}", first.display());
        command
            .args(args)
            .env("PATH", path)
            .envs(env.iter().copied());
        RunResult(command.output().unwrap())
    }

    /// Writes a request of task 1 as the only one that the client lists.
    fn list_request(&self, fields: &Value) {
        let mut request = json!({"url": URL, "state": "OPEN", "headRefName": "wt/task-1", "headRefOid": "",
            "isCrossRepository": false, "baseRefName": "main", "isDraft": false});
        for (name, value) in fields.as_object().unwrap() {
            request[name] = value.clone();
        }
        self.client
            .write("list.json", &json!([request]).to_string());
    }

    /// Returns whether the client was asked to open a request.
    fn has_opened(&self) -> bool {
        self.client.dir().join("args-create").exists()
    }

    /// Sets fields of task 1.
    fn set_task(&self, fields: &Value) {
        let path = self.project.file(".tasks/task_1.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut task: Value = serde_json::from_str(&text).unwrap();
        for (name, value) in fields.as_object().unwrap() {
            task[name] = value.clone();
        }
        std::fs::write(path, task.to_string()).unwrap();
    }
}

#[test]
fn branch_is_pushed_and_request_opened_once() {
    let fixture = RemoteFixture::github();
    let tip = fixture.git(&["rev-parse", "wt/task-1"]);
    let preview = fixture.run(&["1", "--dry-run"]);
    let out = preview.out();
    for part in [
        format!("git push origin {tip}:refs/heads/wt/task-1\n").as_str(),
        "gh pr create --head=wt/task-1 --base=main --repo=github.com/acme/tool\n",
        "Title: Write it\n",
        "Write b.txt\n",
        "b.txt | 1 +\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(
        preview.err(),
        "crewdeck: nothing was pushed or opened, because of --dry-run\n"
    );
    let planned = fixture.json(&["task-1", "--dry-run"]);
    assert!(fixture.is_untouched());
    assert!(!fixture.has_opened());

    let done = fixture.json(&["1", "--draft"]);
    for (field, before, after) in [
        ("url", json!(null), json!(URL)),
        ("opened", json!(false), json!(true)),
        ("dry_run", json!(true), json!(false)),
        ("draft", json!(false), json!(true)),
        ("base", json!("main"), json!("main")),
        ("pushed", json!(1), json!(1)),
        ("commit", json!(tip), json!(tip)),
        ("title", json!("Write it"), json!("Write it")),
        ("body", done["body"].clone(), done["body"].clone()),
    ] {
        assert_eq!(
            (&planned[field], &done[field]),
            (&before, &after),
            "{field}"
        );
    }
    assert!(
        fixture
            .remote_branches()
            .ends_with(&format!("refs/heads/wt/task-1 {tip}")),
        "{}",
        fixture.remote_branches()
    );
    assert_eq!(
        fixture.client.read("args-list"),
        "pr\nlist\n--state=all\n--head=wt/task-1\n--limit=30\n\
         --json=url,state,headRefName,headRefOid,isCrossRepository,baseRefName,isDraft\n--repo=github.com/acme/tool\n"
    );
    assert_eq!(
        fixture.client.read("args-create"),
        "pr\ncreate\n--head=wt/task-1\n--base=main\n--draft\n--title=Write it\n--body-file=-\n\
         --repo=github.com/acme/tool\n"
    );
    // Other users of the machine can read arguments.
    let body = fixture.client.read("body");
    assert!(
        body.starts_with("### Commits\n") && body.ends_with("\n### Checks\n\nNo checks ran.\n"),
        "{body}"
    );

    // A second run has nothing to do, one after a new commit pushes it.
    assert_eq!(
        fixture.expect_nothing(&["1"]),
        format!("wt/task-1 has a pull request already, and no new commits to push: {URL}\n")
    );
    let nothing: Value = serde_json::from_str(&fixture.expect_nothing(&["1", "--json"])).unwrap();
    for (field, expected) in [
        ("url", json!(URL)),
        ("opened", json!(false)),
        ("pushed", json!(0)),
        ("commits", json!(1)),
        ("base", json!("main")),
        ("push_command", json!(null)),
        ("title", json!(null)),
    ] {
        assert_eq!(nothing[field], expected, "{field}");
    }
    let newer = fixture.commit("c.txt");
    assert_eq!(
        fixture.ok(&["1"]),
        format!(
            "Pushed 1 commit to wt/task-1 of origin. The pull request is open already: {URL}\n"
        )
    );
    assert!(fixture.remote_branches().ends_with(&newer));
}

#[test]
fn merge_request_has_issue_checks_and_plain_title() {
    let fixture = RemoteFixture::new("glab");
    fixture.client.write("new.json", "[]");
    let printed = format!("!7 Crash (wt/task-1)\n {GITLAB_URL}\n");
    fixture.client.write("printed", &printed);
    fixture.add_remote("work", "https://git.example.org/acme/group/");
    fixture.set_task(&json!({
        "subject": "Issue 12: \"Crash\"",
        "status": "completed",
        "description": "Resolve GitLab issue 12: https://git.example.org/acme/group/tool/-/issues/12\n\n\
            The user imported this issue.\n\n<issue url=\"https://git.example.org/acme/group/tool/-/issues/12\">\n\
            Crash\n\n/merge\n</issue>\n\n/approve\nAsk @bob.",
        "imported_from": "https://git.example.org/acme/group/tool/-/issues/12",
        "checks": [{"name": "tests", "outcome": "green", "seconds": 3.5, "by": "alice", "at": 1_790_000_000}],
    }));
    let line = fixture.expect_refusal(&["1"]);
    assert!(
        line.contains("git.example.org does not say whether it is GitHub or GitLab: add --to github or --to gitlab"),
        "{line}"
    );
    let ran = fixture.run(&["1", "--to", "gitlab", "--draft"]);
    let check = "tests: green after 3.5 s, run by alice, 2026-09-21 14:13 UTC, not confirmed: crewdeck has no such result \
                 for these commits";
    let notice = format!("crewdeck: a check is not green on these commits: {check}\n");
    assert_eq!((ran.code(), ran.err()), (0, notice));
    assert_eq!(
        ran.out(),
        format!(
            "Pushed 1 commit to wt/task-1 of work. Opened a merge request into main: {GITLAB_URL}\n"
        )
    );
    let repo = "https://git.example.org/acme/group/tool";
    assert_eq!(
        fixture.client.read("args-list"),
        format!(
            "mr\nlist\n--all\n--source-branch=wt/task-1\n--per-page=30\n--output=json\n--repo={repo}\n"
        )
    );
    let args = fixture.client.read("args-create");
    let start = format!(
        "mr\ncreate\n--source-branch=wt/task-1\n--target-branch=main\n--head={repo}\n--yes\n--draft\n--title=Crash\n\
         --description=Closes {repo}/-/issues/12\n\n### Commits\n"
    );
    assert!(args.starts_with(&start), "{args}");
    let end = format!(
        "\n\n### Checks\n\n```text\n{check}\n```\n\n### Task 1\n\n> ```text\n> /approve\n> Ask @bob.\n> ```\n\n--repo={repo}\n"
    );
    assert!(args.ends_with(&end), "{args}");
    assert!(
        !args.contains("\n/merge") && !args.contains("imported"),
        "{args}"
    );
}

#[test]
fn failed_opening_is_continued_by_the_same_command() {
    let fixture = RemoteFixture::github();
    fixture
        .client
        .write("fail", "GraphQL: was submitted too quickly\n");
    let line = fixture.expect_refusal(&["1", "--base", "main", "--draft"]);
    for part in [
        "wt/task-1 was pushed to origin, but no pull request was opened: gh pr create failed (exit code 1): GraphQL",
        "To continue, run: crewdeck worktree pr 1 --base main --draft\n",
    ] {
        assert!(line.contains(part), "{line}");
    }
    let pushed = fixture.remote_branches();
    assert!(pushed.contains("refs/heads/wt/task-1 "), "{pushed}");
    let line = fixture.expect_refusal(&["1"]);
    assert!(
        line.contains("wt/task-1 is pushed already to origin, but"),
        "{line}"
    );
    std::fs::remove_file(fixture.client.dir().join("fail")).unwrap();
    assert_eq!(
        fixture.ok(&["1"]),
        format!("The commits were pushed already. Opened a pull request into main: {URL}\n")
    );
    assert_eq!(fixture.remote_branches(), pushed);
}

#[test]
fn request_that_was_opened_without_an_answer_is_found() {
    let fixture = RemoteFixture::github();
    let script = SCRIPT.replace("cat \"$dir/printed\"", "echo timeout >&2; exit 1");
    crate::common::fake_client::write_program(&fixture.client.dir().join("gh"), &script);
    let out = fixture.ok(&["1"]);
    assert!(
        out.contains(&format!("Opened a pull request into main: {URL}")),
        "{out}"
    );
}

#[test]
fn remote_base_and_branch_can_be_chosen() {
    let fixture = RemoteFixture::github();
    fixture.git(&["remote", "add", "other", "git@github.com:acme/other.git"]);
    fixture.git(&["push", "--quiet", "origin", "main:develop"]);
    // The branch starts from what the remote has, even if main is ahead of it here.
    commit(fixture.project.path(), "later.txt", "3\n");
    let done = fixture.json(&[
        "1", "--remote", "origin", "--base", "develop", "--branch", "parser",
    ]);
    assert_eq!(
        (&done["branch"], &done["base"], &done["commits"]),
        (&json!("parser"), &json!("develop"), &json!(1))
    );
    let branches = fixture.remote_branches();
    assert!(
        branches.contains("refs/heads/parser ") && !branches.contains("wt/task-1"),
        "{branches}"
    );
    // The upstream of the base branch is preferred to origin.
    fixture.git(&["config", "branch.main.remote", "other"]);
    let url = format!(
        "file://{}",
        fixture.remote.path().join("tool.git").display()
    );
    fixture.git(&[
        "config",
        &format!("url.{url}.insteadOf"),
        "git@github.com:acme/other.git",
    ]);
    let planned = fixture.json(&["1", "--dry-run", "--branch", "x"]);
    assert_eq!(planned["remote"], "other");
    let command = planned["open_command"].as_array().unwrap();
    assert_eq!(command.last().unwrap(), "--repo=github.com/acme/other");
}
