//! Branches that are combined and landed together.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::repository::{NOW, Repository, commit, git, git_output, name, refusal};
use crewdeck::domain::worktree::{WorktreeError, WorktreeStatus};
use crewdeck::store::{
    CombineOutcome, CombinedBranches, Landing, StoreError, TrainPlan, TrainPlans,
};
use pretty_assertions::assert_eq;

/// A hook that replaces the merge commit by one with the additional file `more.txt`.
const REPLACE_MERGE: &str = "echo more > more.txt; git add more.txt
git update-ref HEAD $(git commit-tree -p HEAD^1 -p HEAD^2 -m changed $(git write-tree))";

/// Creates a repository with the branches of tasks 1 to `count`. Each adds a file `N.txt`.
fn repository(count: u64) -> Repository {
    let r = Repository::new();
    for task in 1..=count {
        let tree = r.create(task, &[]);
        commit(&r.worktree_path(&tree), &format!("{task}.txt"), "work\n");
    }
    r
}

fn plans(r: &Repository, tasks: &[u64]) -> TrainPlans {
    let names: Vec<_> = tasks.iter().map(|n| name(&format!("task-{n}"))).collect();
    r.worktrees().plan_trains(&names, NOW).unwrap()
}

/// Returns the only plan for `tasks`.
fn plan(r: &Repository, tasks: &[u64]) -> TrainPlan {
    let mut found = plans(r, tasks);
    assert_eq!((found.plans.len(), &found.refused), (1, &Vec::new()));
    found.plans.remove(0)
}

fn combine(r: &Repository, plan: &TrainPlan) -> CombinedBranches {
    match r.worktrees().combine(&plan.base, &plan.branches).unwrap() {
        CombineOutcome::Combined(combined) => combined,
        CombineOutcome::Conflict { index, files } => panic!("{index} {files:?}"),
    }
}

/// Combines `tasks` and lands them.
fn land(r: &Repository, tasks: &[u64]) -> Result<Landing, StoreError> {
    let plan = plan(r, tasks);
    let combined = combine(r, &plan);
    r.worktrees().land(&plan.into, &combined, NOW)
}

fn write_hook(r: &Repository, hook: &str, script: &str) {
    let path = r.root().join(".git/hooks").join(hook);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn files(r: &Repository, commit: &str) -> Vec<String> {
    let list = r.git(&["ls-tree", "-r", "--name-only", commit]);
    list.lines().map(String::from).collect()
}

#[test]
fn branches_are_combined_without_touching_a_checkout() {
    let r = repository(2);
    fs::write(r.root().join("a.txt"), "uncommitted\n").unwrap();
    let before = r.state_snapshot();
    let plan = plan(&r, &[2, 1]);
    assert_eq!(
        (plan.into.as_str(), &plan.base),
        ("main", &r.git(&["rev-parse", "main"]))
    );
    let combined = combine(&r, &plan);
    assert_eq!(files(&r, &combined.commit), ["1.txt", "2.txt", "a.txt"]);
    let tree = r.git(&["rev-parse", &format!("{}^{{tree}}", combined.commit)]);
    assert_eq!(combined.tree, tree);
    assert_eq!(r.state_snapshot(), before);
    // In the given order: the last merge commit is that of task 1.
    let subject = r.git(&["log", "-1", "--format=%s", &combined.commit]);
    assert_eq!(subject, "task #1: Subject 1");
    // Without branches, the combination is the base.
    let none = TrainPlan {
        branches: Vec::new(),
        ..plan
    };
    assert_eq!(combine(&r, &none).commit, none.base);
}

#[test]
fn conflict_names_the_branch_and_the_files() {
    let r = repository(1);
    for (task, text) in [(2, "left\n"), (3, "right\n")] {
        let tree = r.create(task, &[]);
        commit(&r.worktree_path(&tree), "a.txt", text);
    }
    let plan = plan(&r, &[1, 2, 3]);
    let found = r.worktrees().combine(&plan.base, &plan.branches).unwrap();
    let expected = CombineOutcome::Conflict {
        index: 2,
        files: vec!["a.txt".into()],
    };
    assert_eq!(found, expected);
}

#[test]
fn branch_that_contains_another_one_needs_no_merge_of_it() {
    let r = repository(1);
    r.create(2, &["wt/task-1"]);
    commit(&r.worktree_path("task-2"), "2.txt", "work\n");
    let combined = combine(&r, &plan(&r, &[2, 1]));
    let merged: Vec<bool> = combined.branches.iter().map(|b| b.tree.is_some()).collect();
    assert_eq!(merged, [true, false]);
    land(&r, &[2, 1]).unwrap();
    let found = plans(&r, &[1, 2]);
    assert_eq!((found.plans.len(), found.merged.len()), (0, 2));
}

#[test]
fn unfinished_branches_are_refused_with_the_reason() {
    let r = repository(3);
    fs::write(r.worktree_path("task-2").join("2.txt"), "more\n").unwrap();
    let state = r.worktree_path("task-3").join(".tasks");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("task_1.json"), "{}").unwrap();
    git(&r.worktree_path("task-3"), &["add", "--force", ".tasks"]);
    git(
        &r.worktree_path("task-3"),
        &["commit", "--quiet", "-m", "forged"],
    );
    let found = plans(&r, &[1, 2, 3]);
    assert_eq!(found.plans[0].branches.len(), 1);
    let reasons: Vec<&str> = found.refused.iter().map(|(_, why)| why.as_str()).collect();
    assert!(
        reasons[0].contains("uncommitted files (2.txt)"),
        "{reasons:?}"
    );
    assert!(
        reasons[1].contains("state folders of crewdeck"),
        "{reasons:?}"
    );
}

#[test]
fn branches_land_together_and_update_a_clean_checkout() {
    let r = repository(3);
    let before = r.git(&["rev-parse", "main"]);
    let landed = land(&r, &[1, 2, 3]).unwrap();
    let commit = r.git(&["rev-parse", "main"]);
    assert_eq!(
        landed,
        Landing::Landed {
            commit,
            before: before.clone(),
            is_checked_out: true
        }
    );
    assert_eq!(r.git(&["status", "--porcelain"]), "");
    for task in 1..=3 {
        assert!(r.root().join(format!("{task}.txt")).exists());
    }
    let trees = r.worktrees().list().unwrap().worktrees;
    assert!(trees.iter().all(|t| t.status == WorktreeStatus::Merged));
    for tree in &trees {
        let parents = r.git(&["rev-list", "--parents", "-1", &tree.merged_commit]);
        assert_eq!(parents.split(' ').count(), 3);
    }
    assert!(!r.root().join(".worktrees/landing.json").exists());
    assert_eq!(r.worktrees().debris().unwrap(), []);
    // One command takes all of them back.
    r.git(&["reset", "--quiet", "--keep", &before]);
    assert_eq!(files(&r, "main"), ["a.txt"]);
}

#[test]
fn only_checked_commits_are_on_the_line_of_first_parents() {
    let r = repository(3);
    let first_line = |range: &str| r.git(&["log", "--first-parent", "--format=%s", range]);
    let before = r.git(&["rev-parse", "main"]);
    land(&r, &[1, 2]).unwrap();
    let train = "Merge 2 branches: wt/task-1, wt/task-2";
    assert_eq!(first_line(&format!("{before}..main")), train);
    assert_eq!(r.git(&["rev-parse", "main^1"]), before);
    // The single merges are behind it, in the order of the train, and each shows its own changes.
    assert_eq!(
        first_line(&format!("{before}..main^2")),
        "task #2: Subject 2\ntask #1: Subject 1"
    );
    for task in 1..=2 {
        let diff = r.worktrees().diff(&name(&format!("task-{task}"))).unwrap();
        assert_eq!(diff.text.matches("diff --git").count(), 1, "{}", diff.text);
        assert!(diff.stat.contains(&format!("{task}.txt")), "{}", diff.stat);
    }
    // One branch needs no further commit.
    let before = r.git(&["rev-parse", "main"]);
    land(&r, &[3]).unwrap();
    let range = format!("{before}..main");
    assert_eq!(first_line(&range), "task #3: Subject 3");
}

#[test]
fn only_the_branch_moves_if_another_one_is_checked_out() {
    let r = repository(2);
    r.git(&["switch", "--quiet", "-c", "other"]);
    fs::write(r.root().join("a.txt"), "uncommitted\n").unwrap();
    land(&r, &[1, 2]).unwrap();
    assert_eq!(files(&r, "main"), ["1.txt", "2.txt", "a.txt"]);
    assert_eq!(r.git(&["branch", "--show-current"]), "other");
    assert_eq!(r.git(&["status", "--porcelain"]), " M a.txt");
    assert!(!r.root().join("1.txt").exists());
}

#[test]
fn landing_that_is_refused_changes_nothing() {
    let r = repository(2);
    let plan = plan(&r, &[1, 2]);
    let combined = combine(&r, &plan);
    let try_land = || r.worktrees().land(&plan.into, &combined, NOW);
    let check = |expected: &str| {
        let before = r.state_snapshot();
        let error = try_land().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(r.state_snapshot(), before);
        assert_eq!(r.worktrees().debris().unwrap(), []);
    };
    fs::write(r.root().join("a.txt"), "changed\n").unwrap();
    check("uncommitted files (a.txt)");
    r.git(&["checkout", "--quiet", "a.txt"]);
    fs::write(r.root().join("2.txt"), "in the way\n").unwrap();
    check("untracked working tree files would be overwritten");
    fs::remove_file(r.root().join("2.txt")).unwrap();
    r.git(&["config", "commit.gpgsign", "true"]);
    r.git(&["config", "gpg.program", "/bin/false"]);
    check("gpg failed");
    r.git(&["config", "commit.gpgsign", "false"]);
    write_hook(&r, "pre-merge-commit", "echo not today >&2; exit 1");
    check("not today");
    // Without a checkout, the hook could not run.
    r.git(&["switch", "--quiet", "-c", "other"]);
    check("is on other, but the branch to merge started from main");
    fs::remove_file(r.root().join(".git/hooks/pre-merge-commit")).unwrap();
    let elsewhere = r.root().with_file_name("elsewhere");
    r.git(&[
        "worktree",
        "add",
        "--quiet",
        elsewhere.to_str().unwrap(),
        "main",
    ]);
    check("main is checked out in");
    r.git(&["worktree", "remove", elsewhere.to_str().unwrap()]);
    r.git(&["switch", "--quiet", "main"]);
    // Another program has moved the base branch.
    r.commit("b.txt", "of the user\n");
    let before = r.state_snapshot();
    let head = r.git(&["rev-parse", "main"]);
    assert_eq!(try_land().unwrap(), Landing::BaseMoved(head));
    assert_eq!(r.state_snapshot(), before);
}

#[test]
fn ignored_files_of_the_user_are_not_overwritten() {
    let r = Repository::new();
    r.commit(".gitignore", ".env\nconf\n");
    let tree = r.worktree_path(&r.create(1, &[]));
    // The branch adds files that the user's checkout ignores.
    fs::write(tree.join(".gitignore"), "").unwrap();
    fs::create_dir(tree.join("conf")).unwrap();
    fs::write(tree.join("conf/main"), "of the branch\n").unwrap();
    commit(&tree, ".env", "of the branch\n");
    fs::write(r.root().join(".env"), "of the user\n").unwrap();
    fs::write(r.root().join("conf"), "of the user\n").unwrap();
    let before = r.state_snapshot();
    let check = |result: Result<(), StoreError>| {
        let why = result.unwrap_err().to_string();
        assert!(why.contains("by the merge: .env, conf."), "{why}");
        assert_eq!(r.state_snapshot(), before);
        for file in [".env", "conf"] {
            let text = fs::read_to_string(r.root().join(file)).unwrap();
            assert_eq!(text, "of the user\n");
        }
    };
    check(land(&r, &[1]).map(|_| ()));
    write_hook(&r, "pre-merge-commit", "true");
    check(land(&r, &[1]).map(|_| ()));
    check(r.worktrees().merge(&name("task-1"), NOW).map(|_| ()));
    for file in [".env", "conf"] {
        fs::remove_file(r.root().join(file)).unwrap();
    }
    land(&r, &[1]).unwrap();
}

#[test]
fn hooks_for_merge_commits_run_once_for_the_train() {
    let r = repository(2);
    write_hook(&r, "pre-merge-commit", "ls ?.txt > .git/seen");
    write_hook(&r, "commit-msg", "echo checked by the hook >> \"$1\"");
    let before = r.git(&["rev-parse", "main"]);
    land(&r, &[1, 2]).unwrap();
    let seen = fs::read_to_string(r.root().join(".git/seen")).unwrap();
    assert_eq!(seen, "1.txt\n2.txt\na.txt\n");
    let message = r.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with("Merge 2 branches: wt/task-1, wt/task-2"),
        "{message}"
    );
    assert!(message.contains("checked by the hook"), "{message}");
    assert_eq!(r.git(&["rev-parse", "main^1"]), before);
    assert_eq!(r.git(&["status", "--porcelain"]), "");
}

#[test]
fn hooks_that_a_branch_brings_do_not_run() {
    let r = repository(1);
    let tree = r.worktree_path(&r.create(2, &[]));
    let hook = tree.join(".husky/post-merge");
    fs::create_dir(tree.join(".husky")).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch .git/escaped\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    git(&tree, &["add", ".husky"]);
    git(&tree, &["commit", "--quiet", "-m", "hook"]);
    assert_eq!(r.worktrees().skipped_merge_hooks().unwrap(), None);
    r.git(&["config", "core.hooksPath", ".husky"]);
    land(&r, &[2]).unwrap();
    r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert_eq!(files(&r, "main"), [".husky/post-merge", "1.txt", "a.txt"]);
    assert!(!r.root().join(".git/escaped").exists());
    let why = r.worktrees().skipped_merge_hooks().unwrap().unwrap();
    assert!(why.contains("agents can change .husky."), "{why}");
}

#[test]
fn later_commits_of_a_branch_do_not_land() {
    let r = repository(1);
    let plan = plan(&r, &[1]);
    let combined = combine(&r, &plan);
    commit(&r.worktree_path("task-1"), "late.txt", "not checked\n");
    r.worktrees().land(&plan.into, &combined, NOW).unwrap();
    assert_eq!(files(&r, "main"), ["1.txt", "a.txt"]);
    let tree = &r.worktrees().list().unwrap().worktrees[0];
    assert_eq!(tree.status, WorktreeStatus::Active);
    assert_eq!(plans(&r, &[1]).plans.len(), 1);
}

#[test]
fn one_train_runs_at_a_time() {
    let r = repository(1);
    let lock = r.worktrees().lock_train().unwrap().unwrap();
    assert!(r.worktrees().lock_train().unwrap().is_none());
    drop(lock);
    assert!(r.worktrees().lock_train().unwrap().is_some());
}

#[test]
fn hook_that_changes_the_merge_is_taken_back() {
    let r = repository(2);
    write_hook(&r, "pre-merge-commit", "true");
    // Git leaves what `pre-merge-commit` stages out of the merge commit, so the hook replaces the commit.
    write_hook(&r, "post-merge", REPLACE_MERGE);
    let before = r.git(&["rev-parse", "main"]);
    let why = land(&r, &[1, 2]).unwrap_err().to_string();
    assert!(
        why.contains("a hook for merge commits changed files"),
        "{why}"
    );
    assert_eq!(r.git(&["rev-parse", "main"]), before);
    assert_eq!(r.git(&["status", "--porcelain"]), "");
    assert_eq!(files(&r, "main"), ["a.txt"]);
    assert_eq!(r.worktrees().debris().unwrap(), []);
    fs::remove_file(r.root().join(".git/hooks/post-merge")).unwrap();
    land(&r, &[1, 2]).unwrap();
}

#[test]
fn commit_of_a_hook_on_the_merge_is_kept() {
    let bump = "echo 2 > version.txt; git add version.txt
git update-ref HEAD $(git commit-tree -p HEAD -m bump $(git write-tree))";
    // The merge is what was checked.
    let r = repository(1);
    write_hook(&r, "pre-merge-commit", "true");
    write_hook(&r, "post-merge", bump);
    let landed = land(&r, &[1]).unwrap();
    assert!(matches!(landed, Landing::Landed { .. }), "{landed:?}");
    assert_eq!(files(&r, "main"), ["1.txt", "a.txt", "version.txt"]);
    let tree = &r.worktrees().list().unwrap().worktrees[0];
    assert_eq!(tree.status, WorktreeStatus::Merged);
    // It is not, but a reset would drop the commit on it.
    let r = repository(1);
    write_hook(&r, "pre-merge-commit", "true");
    write_hook(&r, "post-merge", &format!("{REPLACE_MERGE}\n{bump}"));
    let why = land(&r, &[1]).unwrap_err().to_string();
    let merge = r.git(&["rev-parse", "main^"]);
    assert!(why.contains(&format!("git revert -m 1 {merge}")), "{why}");
    let all = ["1.txt", "a.txt", "more.txt", "version.txt"];
    assert_eq!(files(&r, "main"), all);
    assert_eq!(r.worktrees().debris().unwrap(), []);
    // The branch is not merged before the checks are green on the base branch, as it is now.
    let head = r.git(&["rev-parse", "main"]);
    assert_eq!(combine(&r, &plan(&r, &[1])).commit, head);
    land(&r, &[1]).unwrap();
    assert_eq!(r.git(&["rev-parse", "main"]), head);
    let tree = &r.worktrees().list().unwrap().worktrees[0];
    assert_eq!(tree.status, WorktreeStatus::Merged);
    assert_eq!(plans(&r, &[1]).merged.len(), 1);
}

/// Makes git sign commits with a program that runs `script` first.
fn sign_with(r: &Repository, script: &str) {
    let signed = r"echo signature; printf '\n[GNUPG:] SIG_CREATED \n' >&2";
    write_hook(r, "sign", &format!("cat > /dev/null\n{script}\n{signed}"));
    let program = r.root().join(".git/hooks/sign");
    r.git(&["config", "gpg.program", program.to_str().unwrap()]);
    r.git(&["config", "commit.gpgsign", "true"]);
}

#[test]
fn branch_that_the_user_switches_to_meanwhile_is_not_moved() {
    let r = repository(1);
    sign_with(&r, "git switch --quiet -c fix 2> /dev/null");
    let before = r.git(&["rev-parse", "main"]);
    let why = land(&r, &[1]).unwrap_err().to_string();
    assert!(why.contains("main is not checked out any more"), "{why}");
    assert_eq!(r.git(&["branch", "--show-current"]), "fix");
    for branch in ["main", "fix"] {
        assert_eq!(r.git(&["rev-parse", branch]), before);
    }
    assert_eq!(r.worktrees().debris().unwrap(), []);
    let tree = &r.worktrees().list().unwrap().worktrees[0];
    assert_eq!(tree.status, WorktreeStatus::Active);
}

#[test]
fn commit_that_the_user_drops_meanwhile_does_not_return() {
    let r = repository(1);
    let first = r.git(&["rev-parse", "main"]);
    r.commit("b.txt", "of the user\n");
    sign_with(&r, "git reset --quiet --hard HEAD~1");
    assert_eq!(land(&r, &[1]).unwrap(), Landing::BaseMoved(first.clone()));
    assert_eq!(r.git(&["rev-parse", "main"]), first);
    assert_eq!(r.worktrees().debris().unwrap(), []);
}

#[test]
fn branch_in_a_rebase_or_bisect_is_not_moved() {
    let r = repository(1);
    r.git(&["switch", "--quiet", "-c", "other"]);
    r.commit("a.txt", "of the other\n");
    r.git(&["switch", "--quiet", "main"]);
    r.commit("a.txt", "of main\n");
    let plan = plan(&r, &[1]);
    let combined = combine(&r, &plan);
    let check = || {
        let before = r.state_snapshot();
        for result in [
            r.worktrees().check_landing("main"),
            r.worktrees().land("main", &combined, NOW).map(|_| ()),
        ] {
            let why = refusal(result);
            assert!(matches!(why, WorktreeError::BaseInUse { .. }), "{why}");
        }
        assert_eq!(r.state_snapshot(), before);
    };
    let rebase = git_output(r.root(), &["rebase", "other"]);
    assert!(!rebase.status.success(), "the rebase stops at a conflict");
    assert_eq!(r.git(&["branch", "--show-current"]), "");
    check();
    r.git(&["rebase", "--abort"]);
    r.git(&["bisect", "start"]);
    r.git(&["checkout", "--quiet", "--detach", "main~1"]);
    check();
    r.git(&["bisect", "reset"]);
    r.worktrees().check_landing("main").unwrap();
    r.worktrees().land("main", &combined, NOW).unwrap();
}
