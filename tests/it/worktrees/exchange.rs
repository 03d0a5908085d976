//! Branches that two hosts exchange over a bare repository.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crewdeck::domain::host::HostName;
use crewdeck::domain::worktree::{Merge, Origin, WorktreeError};
use crewdeck::store::{BranchExchange, NeededWork};
use pretty_assertions::assert_eq;

use crate::common::repository::{NOW, Repository, commit, git, name, refusal};

/// Two clones, and the repository through which they exchange branches.
struct Hosts {
    a: Repository,
    b: Repository,
    dir: tempfile::TempDir,
}

impl Hosts {
    fn new() -> Hosts {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet", "--bare", "shared.git"]);
        let (a, b) = (Repository::new(), Repository::empty("b"));
        b.git(&["fetch", "--quiet", &a.root().to_string_lossy(), "main"]);
        b.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
        let hosts = Hosts { a, b, dir };
        for repository in [&hosts.a, &hosts.b] {
            repository.git(&["remote", "add", "origin", &hosts.url()]);
        }
        hosts
    }

    fn shared(&self) -> PathBuf {
        self.dir.path().join("shared.git")
    }

    fn url(&self) -> String {
        self.shared().display().to_string()
    }

    fn both(&self) -> (BranchExchange, BranchExchange) {
        (exchange(&self.a, "a"), exchange(&self.b, "b"))
    }

    /// Returns the refs of the shared repository, each with its commit.
    fn shared_refs(&self) -> String {
        git(
            &self.shared(),
            &["for-each-ref", "--format=%(refname) %(objectname)"],
        )
    }
}

fn exchange(repository: &Repository, host: &str) -> BranchExchange {
    BranchExchange::new(repository.root(), "origin".into(), "web")
        .with_host(HostName::parse(host).unwrap())
}

/// Returns the work of a task that another host has completed.
fn needed(worktree: &str, host: &str) -> NeededWork {
    NeededWork {
        worktree: name(worktree),
        by: Some(HostName::parse(host).unwrap()),
        is_local: false,
        is_required: true,
    }
}

/// Commits a file in the worktree of task 1, which is created if it is missing, and returns the commit.
fn work(repository: &Repository, file: &str, content: &str) -> String {
    let dir = repository.worktree_path("task-1");
    if !dir.exists() {
        repository.create(1, &[]);
    }
    commit(&dir, file, content);
    git(&dir, &["rev-parse", "HEAD"])
}

/// Writes an executable hook that appends its name to `log`.
fn write_hook(folder: &Path, hook: &str, log: &Path) {
    fs::create_dir_all(folder).unwrap();
    let script = format!("#!/bin/sh\necho {hook} >> '{}'\n", log.display());
    let path = folder.join(hook);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn branch_travels_to_another_host_and_back() {
    let hosts = Hosts::new();
    let (lead, worker) = hosts.both();
    lead.check().unwrap();
    assert_eq!(hosts.shared_refs(), "", "a check writes nothing");
    let base = hosts.a.git(&["rev-parse", "main"]);
    lead.publish_base(&base).unwrap();
    let first = work(&hosts.a, "b.txt", "one\n");
    let task = name("task-1");
    let published = lead.publish(&task).unwrap();
    assert_eq!((&published.worktree, &published.commit), (&task, &first));
    assert_eq!(
        hosts.shared_refs(),
        format!("refs/crewdeck/web/base {base}\nrefs/crewdeck/web/wt/task-1 {first}")
    );

    assert_eq!(
        worker.take_over(&task, None, NOW).unwrap(),
        None,
        "not fetched yet"
    );
    let fetched = worker.fetch().unwrap();
    assert_eq!(fetched.base, Some(base));
    assert_eq!(fetched.branches[0].commit, first);
    assert_eq!(
        worker.take_over(&task, None, NOW).unwrap(),
        Some(first.clone())
    );
    assert_eq!(hosts.b.git(&["rev-parse", "wt/task-1"]), first);
    // The worktree continues there.
    let continued = hosts.b.try_create(1, &[]).unwrap();
    assert_eq!(continued.origin, Origin::Branch);
    assert_eq!(continued.worktree.name, task);
    let second = work(&hosts.b, "c.txt", "two\n");
    assert_eq!(worker.publish(&task).unwrap().other_work, None);

    // The branch is checked out in a clean worktree of the lead.
    lead.fetch().unwrap();
    assert_eq!(
        lead.take_over(&task, None, NOW).unwrap(),
        Some(second.clone())
    );
    let file = hosts.a.worktree_path("task-1").join("c.txt");
    assert_eq!(fs::read_to_string(file).unwrap(), "two\n");
    let merged = hosts.a.worktrees().merge(&task, NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");

    // An older branch does not go back.
    let third = work(&hosts.a, "d.txt", "three\n");
    assert_eq!(lead.take_over(&task, None, NOW).unwrap(), Some(third));
    let published = worker.publish(&task).unwrap();
    assert_eq!(published.commit, second);
}

#[test]
fn branch_without_a_worktree_here_can_be_merged() {
    let hosts = Hosts::new();
    let (lead, worker) = hosts.both();
    let tip = work(&hosts.b, "b.txt", "one\n");
    worker.publish(&name("task-1")).unwrap();
    lead.fetch().unwrap();
    assert_eq!(
        lead.take_over(&name("task-1"), None, NOW).unwrap(),
        Some(tip)
    );
    let merged = hosts.a.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    assert!(hosts.a.root().join("b.txt").exists());
}

#[test]
fn other_work_at_the_remote_is_kept_beside() {
    let hosts = Hosts::new();
    let (first, second) = hosts.both();
    let task = name("task-1");
    let theirs = work(&hosts.a, "b.txt", "one\n");
    first.publish(&task).unwrap();
    let own = work(&hosts.b, "b.txt", "two\n");
    let published = second.publish(&task).unwrap();
    let beside = format!("task-1-b-{}", &own[..8]);
    assert_eq!(published.worktree, name(&beside));
    assert_eq!(published.other_work, Some(theirs.clone()));
    assert_eq!(second.publish(&task).unwrap(), published, "again");
    // Later commits continue the branch beside the other work.
    let newer = work(&hosts.b, "c.txt", "three\n");
    assert_eq!(second.publish(&task).unwrap().worktree, name(&beside));
    assert_eq!(
        hosts.shared_refs(),
        format!("refs/crewdeck/web/wt/task-1 {theirs}\nrefs/crewdeck/web/wt/{beside} {newer}")
    );
    first.fetch().unwrap();
    let full = format!("refs/crewdeck/fetched/web/wt/{beside}");
    let found = first.find_needed(&[needed("task-1", "b")], None);
    assert_eq!(found.unwrap(), [full]);
    let host = HostName::parse("c").unwrap();
    let why = refusal(first.take_over(&name("task-2"), Some(&host), NOW)).to_string();
    assert!(
        why.starts_with("wt/task-2 is not at the remote yet"),
        "{why}"
    );
    let taken = first.take_over(&name(&beside), None, NOW).unwrap();
    assert_eq!(taken, Some(newer.clone()));
    let tree = hosts.a.worktrees().find(&beside).unwrap();
    assert_eq!(tree.task_id.map(|id| id.0), Some(1));

    second.fetch().unwrap();
    let why = refusal(second.take_over(&task, None, NOW));
    assert!(matches!(why, WorktreeError::Diverged { .. }), "{why}");
    let text = why.to_string();
    assert!(
        text.contains(&newer[..12]) && text.contains(&theirs[..12]),
        "{text}"
    );
    assert_eq!(hosts.b.git(&["rev-parse", "wt/task-1"]), newer);
}

#[test]
fn dependent_task_builds_on_what_the_other_host_has_published() {
    let hosts = Hosts::new();
    let (here, other) = hosts.both();
    let task = name("task-1");
    let stale = work(&hosts.a, "b.txt", "stale\n");
    let done = work(&hosts.b, "b.txt", "done\n");
    other.publish(&task).unwrap();
    here.fetch().unwrap();
    let found = here.find_needed(&[needed("task-1", "b")], None).unwrap();
    assert_eq!(found, ["refs/crewdeck/fetched/web/wt/task-1"]);
    let created = hosts.a.try_create(2, &[found[0].as_str()]).unwrap();
    assert_eq!(created.branch_merges.merged, ["wt/task-1"]);
    let dir = hosts.a.worktree_path("task-2");
    assert_eq!(git(&dir, &["rev-parse", "HEAD"]), done);

    // The branch here stays, also if its task continues after its folder was lost.
    assert!(here.has_diverged(&task).unwrap());
    fs::remove_dir_all(hosts.a.worktree_path("task-1")).unwrap();
    let again = hosts.a.try_create(1, &[found[0].as_str()]).unwrap();
    assert_eq!(again.worktree.name, name("task-1-2"));
    assert_eq!(hosts.a.git(&["rev-parse", "wt/task-1-2"]), done);
    assert_eq!(hosts.a.git(&["rev-parse", "wt/task-1"]), stale);

    let why = refusal(here.find_needed(&[needed("task-9", "b")], None)).to_string();
    assert!(why.contains("wt/task-9 is not at the remote yet"), "{why}");
}

#[test]
fn only_new_commits_count_as_unpublished_work() {
    let hosts = Hosts::new();
    let (lead, _) = hosts.both();
    work(&hosts.a, "b.txt", "one\n");
    hosts.a.create(2, &[]);
    let all = [name("task-1"), name("task-2"), name("task-3")];
    assert_eq!(lead.unpublished(&all).unwrap(), all[..2]);
    assert_eq!(lead.unpublished_work(&all).unwrap(), all[..1]);
    lead.publish(&all[0]).unwrap();
    assert_eq!(lead.unpublished(&all).unwrap(), all[1..2]);
    assert!(lead.unpublished_work(&all).unwrap().is_empty());
    work(&hosts.a, "c.txt", "two\n");
    assert_eq!(lead.unpublished_work(&all).unwrap(), all[..1]);
}

#[test]
fn files_that_are_not_committed_are_never_overwritten() {
    let hosts = Hosts::new();
    let (lead, worker) = hosts.both();
    let task = name("task-1");
    let first = work(&hosts.a, "b.txt", "one\n");
    lead.publish(&task).unwrap();
    worker.fetch().unwrap();
    worker.take_over(&task, None, NOW).unwrap();
    hosts.b.create(1, &[]);
    let second = work(&hosts.b, "b.txt", "two\n");
    worker.publish(&task).unwrap();

    let dir = hosts.a.worktree_path("task-1");
    fs::write(dir.join("b.txt"), "mine\n").unwrap();
    lead.fetch().unwrap();
    let why = refusal(lead.take_over(&task, None, NOW));
    assert!(matches!(why, WorktreeError::Uncommitted { .. }), "{why}");
    assert_eq!(fs::read_to_string(dir.join("b.txt")).unwrap(), "mine\n");
    assert_eq!(git(&dir, &["rev-parse", "HEAD"]), first);

    git(&dir, &["checkout", "--quiet", "--detach"]);
    git(&dir, &["checkout", "--quiet", "--", "b.txt"]);
    hosts.a.git(&["checkout", "--quiet", "wt/task-1"]);
    let why = refusal(lead.take_over(&task, None, NOW)).to_string();
    assert!(why.contains("is checked out in"), "{why}");
    hosts.a.git(&["checkout", "--quiet", "main"]);
    assert_eq!(lead.take_over(&task, None, NOW).unwrap(), Some(second));
}

#[test]
fn interrupted_operations_are_repeated_without_harm() {
    let hosts = Hosts::new();
    let (lead, worker) = hosts.both();
    let task = name("task-1");
    let base = hosts.a.git(&["rev-parse", "main"]);
    work(&hosts.a, "b.txt", "one\n");
    // Each process has its own exchange, and knows nothing of the one before.
    for _ in 0..2 {
        let lead = exchange(&hosts.a, "a");
        lead.publish_base(&base).unwrap();
        lead.publish(&task).unwrap();
    }
    worker.fetch().unwrap();
    worker.take_over(&task, None, NOW).unwrap();
    hosts.b.create(1, &[]);
    let second = work(&hosts.b, "c.txt", "two\n");
    worker.publish(&task).unwrap();
    lead.fetch().unwrap();
    // Git was killed while it wrote the file.
    let dir = hosts.a.worktree_path("task-1");
    let log = hosts.a.root().join(".worktrees/events.jsonl");
    let line =
        r#"{"event":"worktree.bring.before","ts":7.0,"task":{},"worktree":{"name":"task-1"}}"#;
    let before = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{before}{line}\n")).unwrap();
    fs::write(dir.join("c.txt"), "tw").unwrap();
    assert_eq!(lead.take_over(&task, None, NOW).unwrap(), Some(second));
    assert_eq!(fs::read_to_string(dir.join("c.txt")).unwrap(), "two\n");
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
    let events = hosts.a.events();
    assert_eq!(events.last().unwrap(), "worktree.bring.after");
}

#[test]
fn base_commit_is_replaced_and_deleted_branches_are_not_listed() {
    let hosts = Hosts::new();
    let (lead, worker) = hosts.both();
    for content in ["two\n", "three\n"] {
        hosts.a.git(&[
            "commit",
            "--quiet",
            "--amend",
            "--allow-empty",
            "-m",
            "again",
        ]);
        hosts.a.commit("a.txt", content);
        lead.publish_base(&hosts.a.git(&["rev-parse", "HEAD"]))
            .unwrap();
        hosts.a.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    }
    assert!(lead.publish_base("main").is_err(), "no hash");
    work(&hosts.a, "b.txt", "one\n");
    lead.publish(&name("task-1")).unwrap();
    assert_eq!(worker.fetch().unwrap().branches.len(), 1);
    git(
        &hosts.shared(),
        &["update-ref", "-d", "refs/crewdeck/web/wt/task-1"],
    );
    assert!(worker.fetch().unwrap().branches.is_empty());
}

#[test]
fn refs_of_others_do_not_prevent_a_fetch() {
    let hosts = Hosts::new();
    let (lead, worker) = hosts.both();
    let commit = work(&hosts.a, "b.txt", "one\n");
    lead.publish(&name("task-1")).unwrap();
    worker.fetch().unwrap();
    // The fetched ref wt/task-1 stays, and git cannot store a ref below it.
    let shared = hosts.shared();
    let tree = git(&shared, &["rev-parse", &format!("{commit}^{{tree}}")]);
    git(
        &shared,
        &["update-ref", "-d", "refs/crewdeck/web/wt/task-1"],
    );
    for (branch, object) in [("task-1/x", &commit), ("tree", &tree), ("task-2", &commit)] {
        let full = format!("refs/crewdeck/web/wt/{branch}");
        git(&shared, &["update-ref", &full, object]);
    }
    for _ in 0..2 {
        let fetched = worker.fetch().unwrap().branches;
        let names: Vec<&str> = fetched.iter().map(|b| b.worktree.as_str()).collect();
        assert_eq!(names, ["task-2"]);
    }
}

#[test]
fn many_branches_are_fetched_at_once() {
    let hosts = Hosts::new();
    let (_, worker) = hosts.both();
    let commit = hosts.a.git(&["rev-parse", "main"]);
    hosts.a.git(&["push", "--quiet", "origin", "main"]);
    let refs: Vec<String> = (1..=501)
        .map(|number| format!("{commit} refs/crewdeck/web/wt/task-{number}\n"))
        .collect();
    fs::write(hosts.shared().join("packed-refs"), refs.concat()).unwrap();
    assert_eq!(worker.fetch().unwrap().branches.len(), 501);
}

#[test]
fn hooks_that_agents_can_change_do_not_run() {
    let hosts = Hosts::new();
    let (lead, worker) = hosts.both();
    let task = name("task-1");
    let all = [
        "pre-push",
        "post-checkout",
        "post-merge",
        "reference-transaction",
    ];
    let log = hosts.dir.path().join("log");
    work(&hosts.a, "b.txt", "one\n");
    let exchange_all = || {
        lead.check().unwrap();
        lead.publish(&task).unwrap();
        worker.fetch().unwrap();
        worker.take_over(&task, None, NOW).unwrap();
    };
    for repository in [&hosts.a, &hosts.b] {
        repository.git(&["config", "core.hooksPath", ".husky"]);
        for hook in all {
            write_hook(&repository.root().join(".husky"), hook, &log);
        }
    }
    exchange_all();
    assert!(!log.exists(), "{:?}", fs::read_to_string(&log));

    // Hooks that only the user can change run at a push, and nowhere else.
    for repository in [&hosts.a, &hosts.b] {
        let folder = repository.root().join(".git/hooks");
        repository.git(&["config", "core.hooksPath", &folder.to_string_lossy()]);
    }
    work(&hosts.a, "c.txt", "two\n");
    for repository in [&hosts.a, &hosts.b] {
        for hook in all {
            write_hook(&repository.root().join(".git/hooks"), hook, &log);
        }
    }
    exchange_all();
    assert_eq!(fs::read_to_string(&log).unwrap(), "pre-push\n");
    let hook = hosts.a.root().join(".git/hooks/pre-push");
    fs::write(&hook, "#!/bin/sh\necho no tests >&2\nexit 1\n").unwrap();
    fs::remove_file(hosts.a.root().join(".git/hooks/reference-transaction")).unwrap();
    fs::remove_file(hosts.a.root().join(".git/hooks/post-checkout")).unwrap();
    work(&hosts.a, "d.txt", "three\n");
    let error = lead.publish(&task).unwrap_err().to_string();
    assert!(
        error.contains("git push failed") && error.contains("no tests"),
        "{error}"
    );
}

#[test]
fn files_that_stay_on_this_machine_are_not_published() {
    let hosts = Hosts::new();
    let (lead, _) = hosts.both();
    hosts.a.commit(".gitignore", "*.local\n");
    let dir = hosts.a.worktree_path(&hosts.a.create(1, &[]));
    fs::write(dir.join("key.local"), "secret").unwrap();
    git(&dir, &["add", "--force", "key.local"]);
    git(&dir, &["commit", "--quiet", "-m", "oops"]);
    let why = refusal(lead.publish(&name("task-1"))).to_string();
    assert!(why.contains("key.local"), "{why}");
    assert_eq!(hosts.shared_refs(), "");

    lead.publish_head().unwrap();
    let published = hosts.shared_refs();
    fs::write(hosts.a.root().join("key.local"), "secret").unwrap();
    hosts.a.git(&["add", "--force", "key.local"]);
    hosts.a.git(&["commit", "--quiet", "-m", "oops"]);
    let why = refusal(lead.publish_head()).to_string();
    assert!(why.contains("key.local"), "{why}");
    assert_eq!(hosts.shared_refs(), published);
}

#[test]
fn unusable_remotes_are_rejected_with_the_reason() {
    let hosts = Hosts::new();
    let (a, dir) = (&hosts.a, hosts.dir.path());
    let mark = dir.join("mark");
    let program = format!("ext::sh -c touch% {}", mark.display());
    let key = format!("url.{program}.insteadOf");
    a.git(&["config", &key, "https://replaced.example/"]);
    a.git(&["remote", "add", "program", &program]);
    let inside = a.root().join("inside.git").display().to_string();
    git(a.root(), &["init", "--quiet", "--bare", "inside.git"]);
    let missing = dir.join("missing.git").display().to_string();
    let option = format!("--upload-pack=touch {}", mark.display());
    for (remote, hint) in [
        (option.as_str(), "hub.remote begins with '-'"),
        (program.as_str(), "hub.remote names a program"),
        ("program", "names a program"),
        ("https://replaced.example/x", "names a program"),
        ("upstream", "existing: origin, program"),
        ("relative/path.git", "there is no git remote of this name"),
        (inside.as_str(), "is in this project"),
        (missing.as_str(), "there is no git repository at"),
        ("", "hub.remote is empty"),
    ] {
        let exchange = BranchExchange::new(a.root(), remote.into(), "web");
        for error in [exchange.check().err(), exchange.fetch().err()] {
            let error = error.expect(remote).to_string();
            assert!(error.contains(hint), "{remote}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
    assert!(!mark.exists());
    for crew in ["beside", "Fetched", "", "a/b", "a b"] {
        let exchange = BranchExchange::new(a.root(), hosts.url(), crew);
        let error = exchange.fetch().unwrap_err().to_string();
        assert!(error.contains("choose another name"), "{crew}: {error}");
    }
}
