//! The title and the text of a new pull request.
//!
//! Agents and strangers have written the description of the task, and the services act on some texts: a line `/merge`
//! merges, `@name` notifies a user. Such texts are made ineffective. The description comes last, so that nothing in it can
//! hide what crewdeck has found, or pass for it.

use serde_json::Value;

use crate::domain::code_host::is_page_url;
use crate::domain::redact::Redactor;
use crate::domain::task::Task;
use crate::domain::task_import::{text_beside_issue, title_of_issue};
use crate::domain::text::{clip, escape_control_chars, head_and_tail, one_line};
use crate::domain::worktree::OutgoingBranch;

/// Maximum length of the title, in characters. GitHub and GitLab allow 255 and more.
const TITLE_MAX: usize = 200;
/// Maximum size of the description, in bytes. GitHub allows 65,536 characters for the whole text.
const DESCRIPTION_MAX: usize = 24 * 1024;
/// Maximum number of checks that are listed.
const CHECKS_MAX: usize = 40;
/// Maximum length of the name and of the outcome of a check, in characters.
const WORD_MAX: usize = 60;
/// Maximum length of the reason why the user has completed a task although a check failed, in characters.
const REASON_MAX: usize = 200;

/// The title and the text of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestText {
    pub title: String,
    /// Markdown.
    pub body: String,
}

impl PullRequestText {
    /// Returns the text for the pull request of a worktree's branch. `task` is the task of the worktree; `None` if the
    /// board has none. `subject` is used if the task has no subject, and may be empty.
    pub fn new(task: Option<&Task>, subject: &str, outgoing: &OutgoingBranch) -> PullRequestText {
        let parts = [
            task.and_then(closed_issue),
            Some(commits(outgoing)),
            Some(section("Changes", &fenced(outgoing.stat.trim_end()))),
            task.and_then(|task| checks(task, &outgoing.tree)),
            task.and_then(description),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let redactor = Redactor::default();
        let body = parts.join("\n\n") + "\n";
        PullRequestText {
            title: redactor.text(&title(task, subject, outgoing)).into_owned(),
            body: redactor.text(&body).into_owned(),
        }
    }
}

/// Returns the title: the subject of the task, of an imported issue without number and quotation marks. Without a subject,
/// the newest commit gives the title.
fn title(task: Option<&Task>, subject: &str, outgoing: &OutgoingBranch) -> String {
    let of_task = task.map(|task| match title_of_issue(&task.subject) {
        Some(title) if is_page_url(&task.imported_from) => title,
        Some(_) | None => task.subject.as_str(),
    });
    let newest = outgoing.commits.last();
    let newest = newest.and_then(|line| line.split_once(' ').map(|(_, subject)| subject));
    let all = [of_task, Some(subject), newest];
    let mut titles = all.into_iter().flatten().map(str::trim);
    let title = titles.find(|title| !title.is_empty());
    clip(&one_line(title.unwrap_or(&outgoing.branch)), TITLE_MAX)
}

/// Returns the line with which GitHub and GitLab close the issue, from which the task was imported, after the merge.
fn closed_issue(task: &Task) -> Option<String> {
    let url = &task.imported_from;
    is_page_url(url).then(|| format!("Closes {url}"))
}

fn commits(outgoing: &OutgoingBranch) -> String {
    let listed = outgoing.commits.len() as u64;
    let mut lines = Vec::new();
    if outgoing.commit_count > listed {
        lines.push(format!(
            "… {} earlier commits",
            outgoing.commit_count - listed
        ));
    }
    lines.extend(outgoing.commits.iter().cloned());
    section("Commits", &fenced(&lines.join("\n")))
}

/// Returns the results of the task's checks, one line each; `None` if it has none. `tree` is the git tree of the pushed
/// commit: a check that ran on another one is marked.
fn checks(task: &Task, tree: &str) -> Option<String> {
    let task = serde_json::to_value(task).ok()?;
    let records = task.get("checks")?.as_array()?;
    let lines: Vec<String> = records
        .iter()
        .filter_map(|record| check_line(record, tree))
        .take(CHECKS_MAX)
        .collect();
    (!lines.is_empty()).then(|| section("Checks", &fenced(&lines.join("\n"))))
}

/// Returns one line with the name, the outcome and the duration of a check; `None` if the record has no name or no
/// outcome.
fn check_line(record: &Value, tree: &str) -> Option<String> {
    let string = |field: &str| record.get(field).and_then(Value::as_str);
    let word = |text: &str| clip(&one_line(text), WORD_MAX);
    let name = word(string("name")?);
    let outcome = word(&string("outcome")?.replace('_', " "));
    let mut line = format!("{name}: {outcome}");
    let seconds = record.get("seconds").and_then(Value::as_f64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
        line.push_str(&format!(" after {seconds:.1} s"));
    }
    if string("tree").is_some_and(|checked| !checked.is_empty() && checked != tree) {
        line.push_str(", on other content than these commits");
    }
    if let Some(reason) = string("override").filter(|reason| !reason.is_empty()) {
        let reason = clip(&one_line(reason), REASON_MAX);
        line.push_str(&format!(", overridden by the user: {reason}"));
    }
    Some(line)
}

/// Returns the description of the task, without the quotation of an imported issue: the link to the issue is enough.
fn description(task: &Task) -> Option<String> {
    let text = if is_page_url(&task.imported_from) {
        text_beside_issue(&task.description)
    } else {
        &task.description
    };
    let text = escape_control_chars(text.trim());
    let text = head_and_tail(&without_effects(&text), DESCRIPTION_MAX);
    (!text.is_empty()).then(|| section(&format!("Task {}", task.id.0), &text))
}

fn section(title: &str, content: &str) -> String {
    format!("### {title}\n\n{content}")
}

/// Returns `text` as a block of code, which services show as it is. The fence is longer than every run of backticks in the
/// text.
fn fenced(text: &str) -> String {
    let (mut longest, mut run) = (0_usize, 0_usize);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", escape_control_chars(text))
}

/// Returns `text` so that services do nothing because of it: a line that begins with a slash and a word gets a backslash,
/// and the `@` of a mention becomes a `＠`.
fn without_effects(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(line_without_effects).collect();
    lines.join("\n")
}

fn line_without_effects(line: &str) -> String {
    // A quotation or a list item can begin with a command too.
    let start = |c: char| c.is_whitespace() || matches!(c, '>' | '-' | '*' | '+');
    let rest = line.trim_start_matches(start);
    let mut out = line[..line.len() - rest.len()].to_string();
    let mut chars = rest.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        let is_before_word = chars
            .peek()
            .is_some_and(|next| next.is_alphanumeric() || *next == '_');
        let is_after_word = before.is_some_and(char::is_alphanumeric);
        match c {
            '/' if before.is_none() && is_before_word => out.push_str("\\/"),
            '@' if is_before_word && !is_after_word => out.push('＠'),
            _ => out.push(c),
        }
        before = Some(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::worktree::WorktreeName;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn outgoing() -> OutgoingBranch {
        OutgoingBranch {
            worktree: WorktreeName::new("task-3").unwrap(),
            remote: "origin".into(),
            base: "main".into(),
            branch: "wt/task-3".into(),
            commit: "a".repeat(40),
            tree: "t".repeat(40),
            pushed: None,
            unpushed_count: 2,
            commit_count: 2,
            commits: vec!["abc1234 Add it".into(), "def5678 Test it".into()],
            stat: " a.rs | 2 ++\n 1 file changed, 2 insertions(+)\n".into(),
        }
    }

    fn task(fields: &Value) -> Task {
        let mut task = json!({"id": 3, "subject": "Write the parser"});
        for (name, value) in fields.as_object().unwrap() {
            task[name] = value.clone();
        }
        serde_json::from_value(task).unwrap()
    }

    #[test]
    fn text_lists_issue_commits_changes_checks_and_description() {
        let task = task(&json!({
            "description": "It reads the format.\n",
            "imported_from": "https://github.com/acme/tool/issues/12",
            "checks": [
                {"name": "tests", "outcome": "green", "seconds": 12.34, "tree": "t".repeat(40)},
                {"name": "lint", "outcome": "timed_out", "seconds": 60, "tree": "x", "override": "slow\nmachine"},
                {"name": "docs", "outcome": "running"},
                {"outcome": "green"},
                "other",
            ],
        }));
        let text = PullRequestText::new(Some(&task), "", &outgoing());
        assert_eq!(text.title, "Write the parser");
        assert_eq!(
            text.body,
            "Closes https://github.com/acme/tool/issues/12\n\n\
             ### Commits\n\n```text\nabc1234 Add it\ndef5678 Test it\n```\n\n\
             ### Changes\n\n```text\n a.rs | 2 ++\n 1 file changed, 2 insertions(+)\n```\n\n\
             ### Checks\n\n```text\ntests: green after 12.3 s\n\
             lint: timed out after 60.0 s, on other content than these commits, overridden by the user: slow⏎machine\n\
             docs: running\n```\n\n\
             ### Task 3\n\nIt reads the format.\n"
        );
    }

    #[test]
    fn text_without_task_has_commits_and_changes() {
        let text = PullRequestText::new(None, "Subject of the worktree", &outgoing());
        assert_eq!(text.title, "Subject of the worktree");
        assert!(text.body.starts_with("### Commits\n\n"), "{}", text.body);
        assert!(!text.body.contains("Checks") && !text.body.contains("Task"));
        let text = PullRequestText::new(None, " ", &outgoing());
        assert_eq!(text.title, "Test it");
        let mut none = outgoing();
        none.commits.clear();
        assert_eq!(PullRequestText::new(None, "", &none).title, "wt/task-3");
        for other in [
            json!({"checks": "other"}),
            json!({"checks": []}),
            json!({"checks": [{}]}),
        ] {
            let text = PullRequestText::new(Some(&task(&other)), "", &outgoing());
            assert!(!text.body.contains("### Checks"), "{}", text.body);
        }
    }

    #[test]
    fn title_of_an_issue_is_plain_and_its_text_is_left_out() {
        let quoted = "Resolve GitHub issue 12: https://github.com/acme/tool/issues/12\n\nThe user imported this issue. Its\n\n\
                      <issue url=\"https://github.com/acme/tool/issues/12\">\nCrash\n\n@all /merge\n</issue>";
        let imported = |description: &str| {
            task(&json!({
                "subject": "Issue 12: \"Crash\"",
                "description": description,
                "imported_from": "https://github.com/acme/tool/issues/12",
            }))
        };
        let text = PullRequestText::new(Some(&imported(quoted)), "", &outgoing());
        assert_eq!(text.title, "Crash");
        assert!(
            !text.body.contains("all") && !text.body.contains("### Task"),
            "{}",
            text.body
        );
        let added = format!("{quoted}\n\nOnly on Linux.");
        let text = PullRequestText::new(Some(&imported(&added)), "", &outgoing());
        assert!(
            text.body.ends_with("### Task 3\n\nOnly on Linux.\n"),
            "{}",
            text.body
        );
        // A subject of this form that the user has written is not changed.
        let own = task(&json!({"subject": "Issue 12: \"Crash\""}));
        let text = PullRequestText::new(Some(&own), "", &outgoing());
        assert_eq!(text.title, "Issue 12: \"Crash\"");
        assert!(!text.body.contains("Closes"), "{}", text.body);
    }

    #[test]
    fn description_has_no_effects_at_the_service() {
        let text = "/merge\n  /label ~x\n> /close\n- /assign @bob\n/usr/bin is a path, a/b too\nAsk @acme/team or \
                    bob@example.org, (@carol) and `@types/node`.\n\u{1b}[2J\u{202e}\n@ 5";
        assert_eq!(
            without_effects(&escape_control_chars(text)),
            "\\/merge\n  \\/label ~x\n> \\/close\n- \\/assign ＠bob\n\\/usr/bin is a path, a/b too\nAsk ＠acme/team or \
             bob@example.org, (＠carol) and `＠types/node`.\n␛[2J\u{fffd}\n@ 5"
        );
    }

    #[test]
    fn text_is_bounded_and_code_blocks_cannot_be_left() {
        let mut large = outgoing();
        large.commits = vec!["abc ```` x\u{1b}[2J".into(); 50];
        large.commit_count = 1000;
        large.stat = "x".repeat(8 * 1024);
        let long = task(&json!({
            "subject": "é".repeat(300),
            "description": "@a ".repeat(100_000),
            "checks": vec![json!({"name": "n".repeat(1000), "outcome": "```\n".repeat(100), "override": "r".repeat(1000)}); 100],
        }));
        let text = PullRequestText::new(Some(&long), "", &large);
        assert_eq!(text.title.chars().count(), TITLE_MAX);
        assert!(text.body.len() < 60_000, "{}", text.body.len());
        assert!(
            text.body
                .contains("\n`````text\n… 950 earlier commits\nabc ```` x␛[2J\n")
        );
        let key = format!("ghp_{}", "a1B2c3D4".repeat(5));
        let secret = task(&json!({"description": format!("Use {key}.")}));
        let text = PullRequestText::new(Some(&secret), "", &outgoing());
        assert!(!text.body.contains(&key), "{}", text.body);
    }
}
