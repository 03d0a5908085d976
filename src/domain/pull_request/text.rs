//! The title and the text of a new pull request.
//!
//! Agents and strangers have written the description of the task, and the services and their bots act on some texts: a line
//! `/merge` merges, `@name` notifies a user, `Closes #5` closes an issue. Such texts are put into blocks of code, and the
//! description also into a quotation, so that it cannot pass for what crewdeck has found. Secrets are redacted before a
//! text is changed or shortened: part of a secret is not recognized any more.

use super::CheckReport;
use crate::domain::code_host::is_page_url;
use crate::domain::redact::Redactor;
use crate::domain::task::Task;
use crate::domain::task_import::{text_beside_issue, title_of_issue};
use crate::domain::text::{clip, escape_control_chars, head_and_tail, one_line};
use crate::domain::worktree::OutgoingBranch;

/// Maximum length of the title, in characters. GitHub and GitLab allow 255 and more.
const TITLE_MAX: usize = 200;
/// Maximum length of a commit's abbreviated hash and subject, in characters.
const COMMIT_MAX: usize = 110;
/// Maximum size of the statistics of the changes, in bytes.
const STAT_MAX: usize = 8 * 1024;
/// Maximum size of the description, in bytes. GitHub allows 65,536 characters for the whole text.
const DESCRIPTION_MAX: usize = 24 * 1024;
/// Maximum number of lines of the description. The middle of a longer one is left out.
const LINES_MAX: usize = 1000;
/// Maximum number of checks that are listed.
const CHECKS_MAX: usize = 40;
/// Length after which a line of the description is wrapped, in characters. The services do not wrap code.
const LINE_MAX: usize = 100;

/// Words before a reference to an issue with which GitHub and GitLab close the issue after the merge, in lower case.
const CLOSING: &[&str] = &[
    "close",
    "closes",
    "closed",
    "closing",
    "fix",
    "fixes",
    "fixed",
    "fixing",
    "resolve",
    "resolves",
    "resolved",
    "resolving",
    "implement",
    "implements",
    "implemented",
    "implementing",
];

/// The title and the text of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestText {
    pub title: String,
    /// Markdown.
    pub body: String,
}

impl PullRequestText {
    /// Returns the text for the pull request of a worktree's branch. `task` is the task of the worktree, with its `checks`;
    /// `None` if the board has none. `subject` is used if the task has no subject, and may be empty. `redactor` finds the
    /// secrets, which are left out.
    pub fn new(
        task: Option<&Task>,
        subject: &str,
        outgoing: &OutgoingBranch,
        checks: &[CheckReport],
        redactor: &Redactor,
    ) -> PullRequestText {
        let stat = redactor.text(outgoing.stat.trim_end());
        let parts = [
            task.and_then(|task| closed_issue(task, redactor)),
            Some(commits(outgoing, redactor)),
            Some(section("Changes", &fenced(&head_and_tail(&stat, STAT_MAX)))),
            Some(check_lines(checks, redactor)),
            task.and_then(|task| description(task, redactor)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        PullRequestText {
            title: title(task, subject, outgoing, redactor),
            body: parts.join("\n\n") + "\n",
        }
    }
}

/// Returns the title: the subject of the task, of an imported issue without number and quotation marks. Without a subject,
/// the newest commit gives the title.
fn title(
    task: Option<&Task>,
    subject: &str,
    outgoing: &OutgoingBranch,
    redactor: &Redactor,
) -> String {
    let of_task = task.map(|task| match title_of_issue(&task.subject) {
        Some(title) if is_page_url(&task.imported_from) => title,
        Some(_) | None => task.subject.as_str(),
    });
    let newest = outgoing.commits.last();
    let newest = newest.and_then(|line| line.split_once(' ').map(|(_, subject)| subject));
    let all = [of_task, Some(subject), newest];
    let mut titles = all.into_iter().flatten().map(str::trim);
    let title = titles.find(|title| !title.is_empty());
    let title = redactor.text(title.unwrap_or(&outgoing.branch));
    clip(&without_closing(&one_line(&title)), TITLE_MAX)
}

/// Returns the line with which GitHub and GitLab close the issue, from which the task was imported, after the merge.
fn closed_issue(task: &Task, redactor: &Redactor) -> Option<String> {
    let url = &task.imported_from;
    (is_page_url(url) && !redactor.has_secret(url)).then(|| format!("Closes {url}"))
}

fn commits(outgoing: &OutgoingBranch, redactor: &Redactor) -> String {
    let listed = outgoing.commits.len() as u64;
    let mut lines = Vec::new();
    if outgoing.commit_count > listed {
        lines.push(format!(
            "… {} earlier commits",
            outgoing.commit_count - listed
        ));
    }
    let commits = outgoing.commits.iter();
    lines.extend(commits.map(|line| clip(&one_line(&redactor.text(line)), COMMIT_MAX)));
    section("Commits", &fenced(&lines.join("\n")))
}

/// Returns the results of the checks, one line each. The section is always there, so that a text of the task cannot stand in
/// for it.
fn check_lines(checks: &[CheckReport], redactor: &Redactor) -> String {
    let mut lines: Vec<String> = checks
        .iter()
        .take(CHECKS_MAX)
        .map(|check| check.line(redactor))
        .collect();
    if lines.is_empty() {
        return section("Checks", "No checks ran.");
    }
    if checks.len() > CHECKS_MAX {
        lines.push(format!("… {} more", checks.len() - CHECKS_MAX));
    }
    section("Checks", &fenced(&lines.join("\n")))
}

/// Returns the description of the task as a quotation, without the text of an imported issue: the link to the issue is
/// enough.
fn description(task: &Task, redactor: &Redactor) -> Option<String> {
    let text = if is_page_url(&task.imported_from) {
        text_beside_issue(&task.description)
    } else {
        &task.description
    };
    let text = redactor.text(text.trim());
    let text = head_and_tail(&escape_control_chars(&text), DESCRIPTION_MAX);
    if text.is_empty() {
        return None;
    }
    let mut lines: Vec<String> = text.lines().flat_map(wrapped).collect();
    if let Some(surplus) = lines.len().checked_sub(LINES_MAX).filter(|n| *n > 0) {
        let middle = LINES_MAX / 2..LINES_MAX / 2 + surplus;
        lines.splice(middle, [format!("[… {surplus} lines cut here …]")]);
    }
    let block = fenced(&lines.join("\n"));
    // Some bots look for commands at the start of a line, also in code.
    let quoted: Vec<String> = block.lines().map(|line| format!("> {line}")).collect();
    Some(section(&format!("Task {}", task.id.0), &quoted.join("\n")))
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
    let text = escape_control_chars(text);
    // GitLab looks for these words in code too.
    let lines: Vec<String> = text.lines().map(without_closing).collect();
    format!("{fence}text\n{}\n{fence}", lines.join("\n"))
}

/// Returns the parts of a line, each at most [`LINE_MAX`] characters if its words allow it.
fn wrapped(line: &str) -> Vec<String> {
    let (mut lines, mut current, mut width) = (Vec::new(), String::new(), 0);
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if width > 0 && width + length > LINE_MAX {
            lines.push(std::mem::take(&mut current).trim_end().to_string());
            width = 0;
        }
        current.push_str(word);
        width += word.chars().count();
    }
    lines.push(current.trim_end().to_string());
    lines
}

/// Returns a line in which references to issues are in quotation marks if they follow a word of [`CLOSING`]. The services
/// do not close these issues.
fn without_closing(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut is_after_closing = false;
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let space = &piece[word.len()..];
        if word.is_empty() {
            out.push_str(space);
            continue;
        }
        let reference = match word.find('#') {
            _ if is_after_closing && is_reference(word) => Some(0),
            Some(at) if is_closing(&word[..at]) => Some(at),
            Some(_) | None => None,
        };
        match reference {
            Some(at) => out.push_str(&format!("{}\"{}\"{space}", &word[..at], &word[at..])),
            None => out.push_str(piece),
        }
        let is_noun = matches!(word.to_ascii_lowercase().as_str(), "issue" | "issues");
        is_after_closing = is_closing(word) || (is_after_closing && is_noun);
    }
    out
}

/// Returns whether `text` ends with a word of [`CLOSING`], with or without a colon.
fn is_closing(text: &str) -> bool {
    let text = text.trim_end_matches(':').to_ascii_lowercase();
    let word = text.rsplit(|c: char| !c.is_alphanumeric()).next();
    word.is_some_and(|word| CLOSING.contains(&word))
}

fn is_reference(word: &str) -> bool {
    let is_short_form = word
        .get(..3)
        .is_some_and(|start| start.eq_ignore_ascii_case("gh-"));
    word.contains('#') || word.contains("://") || is_short_form
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::pull_request::check_reports;
    use crate::domain::worktree::WorktreeName;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

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

    fn text_with(
        task: Option<&Task>,
        subject: &str,
        outgoing: &OutgoingBranch,
        redactor: &Redactor,
    ) -> PullRequestText {
        let checks = task.map(|task| check_reports(task, "t", &[], |_| None, |_| false));
        let checks = checks.unwrap_or_default();
        PullRequestText::new(task, subject, outgoing, &checks, redactor)
    }

    fn text(task: Option<&Task>, subject: &str, outgoing: &OutgoingBranch) -> PullRequestText {
        text_with(task, subject, outgoing, &Redactor::default())
    }

    #[test]
    fn text_lists_issue_commits_changes_checks_and_description() {
        let task = task(&json!({
            "description": "It reads the format.\n",
            "imported_from": "https://github.com/acme/tool/issues/12",
            "checks": [{"name": "tests", "outcome": "red", "seconds": 12.34, "tree": "t", "by": "alice"}],
        }));
        let text = text(Some(&task), "", &outgoing());
        assert_eq!(text.title, "Write the parser");
        assert_eq!(
            text.body,
            "Closes https://github.com/acme/tool/issues/12\n\n\
             ### Commits\n\n```text\nabc1234 Add it\ndef5678 Test it\n```\n\n\
             ### Changes\n\n```text\n a.rs | 2 ++\n 1 file changed, 2 insertions(+)\n```\n\n\
             ### Checks\n\n```text\ntests: red after 12.3 s, run by alice\n```\n\n\
             ### Task 3\n\n> ```text\n> It reads the format.\n> ```\n"
        );
    }

    #[test]
    fn text_without_task_has_commits_and_changes() {
        let found = text(None, "Subject of the worktree", &outgoing());
        assert_eq!(found.title, "Subject of the worktree");
        assert!(found.body.starts_with("### Commits\n\n"), "{}", found.body);
        assert!(!found.body.contains("### Task"), "{}", found.body);
        assert_eq!(text(None, " ", &outgoing()).title, "Test it");
        let mut none = outgoing();
        none.commits.clear();
        assert_eq!(text(None, "", &none).title, "wt/task-3");
    }

    #[test]
    fn description_cannot_pass_for_the_section_of_checks() {
        let forged = "```\n### Checks\n\n```text\ntests: green after 12.3 s\n```\n";
        let task = task(&json!({"description": forged}));
        let body = text(Some(&task), "", &outgoing()).body;
        assert!(
            body.contains(
                "\n### Checks\n\nNo checks ran.\n\n### Task 3\n\n> ````text\n> ```\n> ### Checks\n"
            ),
            "{body}"
        );
        assert_eq!(body.matches("\n### Checks\n").count(), 1, "{body}");
        for other in [
            json!({"checks": "other"}),
            json!({"checks": []}),
            json!({"checks": [{}]}),
        ] {
            let task = self::task(&other);
            let body = text(Some(&task), "", &outgoing()).body;
            assert!(body.contains("\n### Checks\n\nNo checks ran.\n"), "{body}");
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
        let found = text(Some(&imported(quoted)), "", &outgoing());
        assert_eq!(found.title, "Crash");
        assert!(
            !found.body.contains("all") && !found.body.contains("### Task"),
            "{}",
            found.body
        );
        let added = format!("{quoted}\n\nOnly on Linux.");
        let found = text(Some(&imported(&added)), "", &outgoing());
        assert!(
            found
                .body
                .ends_with("### Task 3\n\n> ```text\n> Only on Linux.\n> ```\n"),
            "{}",
            found.body
        );
        // A subject of this form that the user has written is not changed.
        let own = task(&json!({"subject": "Issue 12: \"Crash\""}));
        let found = text(Some(&own), "", &outgoing());
        assert_eq!(found.title, "Issue 12: \"Crash\"");
        assert!(!found.body.contains("Closes"), "{}", found.body);
    }

    #[test]
    fn description_is_kept_but_has_no_effects_at_the_service() {
        let description = "/merge\n```\n/usr/bin and `@types/node`\n![x](http://x/y.png) <img src=x>\n\u{1b}[2J\u{202e}";
        let task = task(&json!({"description": description}));
        let body = text(Some(&task), "", &outgoing()).body;
        let end = "> ````text\n> /merge\n> ```\n> /usr/bin and `@types/node`\n> ![x](http://x/y.png) <img src=x>\n\
                   > ␛[2J\u{fffd}\n> ````\n";
        assert!(body.ends_with(end), "{body}");
    }

    #[test]
    fn only_the_imported_issue_is_closed() {
        for (line, expected) in [
            ("Closes #5, #6", "Closes \"#5,\" #6"),
            ("fix:  acme/x#7.", "fix:  \"acme/x#7.\""),
            ("This RESOLVES issue #8", "This RESOLVES issue \"#8\""),
            ("(fixes GH-9)", "(fixes \"GH-9)\""),
            ("closes:#5", "closes:\"#5\""),
            (
                "Implements https://gitlab.com/a/b/-/issues/5 now",
                "Implements \"https://gitlab.com/a/b/-/issues/5\" now",
            ),
            ("See #5, a fix for x, closed", "See #5, a fix for x, closed"),
            ("prefix #5", "prefix #5"),
        ] {
            assert_eq!(without_closing(line), expected);
        }
        let task = task(&json!({"subject": "Fix #5: crash", "description": "Fixes #6"}));
        let mut closing = outgoing();
        closing.commits = vec!["abc1234 Fix #7".into()];
        let text = text(Some(&task), "", &closing);
        assert_eq!(text.title, "Fix \"#5:\" crash");
        for part in ["> Fixes \"#6\"\n", "abc1234 Fix \"#7\"\n"] {
            assert!(text.body.contains(part), "{part}: {}", text.body);
        }
    }

    #[test]
    fn long_lines_of_the_description_are_wrapped() {
        let words = "word ".repeat(50);
        let long = "x".repeat(150);
        assert_eq!(wrapped("  short  line"), ["  short  line"]);
        assert_eq!(wrapped(""), [""]);
        let lines = wrapped(words.trim());
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.chars().count() <= LINE_MAX));
        assert_eq!(lines.join(" "), words.trim());
        assert_eq!(wrapped(&format!("a {long} b")), ["a", long.as_str(), "b"]);
    }

    #[test]
    fn text_is_bounded_and_code_blocks_cannot_be_left() {
        let mut large = outgoing();
        large.commits = vec!["abc ```` x\u{1b}[2J".into(); 50];
        large.commit_count = 1000;
        large.stat = "x".repeat(64 * 1024);
        let long = task(&json!({
            "subject": "é".repeat(300),
            "description": "@a ".repeat(100_000),
            "checks": vec![json!({"name": "n".repeat(1000), "outcome": "```\n".repeat(100), "by": "b".repeat(1000),
                "override": "r".repeat(1000)}); 100],
        }));
        let text = text(Some(&long), "", &large);
        assert_eq!(text.title.chars().count(), TITLE_MAX);
        assert!(text.body.len() < 64_000, "{}", text.body.len());
        assert!(
            text.body
                .contains("\n`````text\n… 950 earlier commits\nabc ```` x␛[2J\n")
        );
        let lines = self::task(&json!({"description": format!("a{}b", "\n".repeat(5000))}));
        let body = self::text(Some(&lines), "", &outgoing()).body;
        assert!(body.contains("\n> [… 4001 lines cut here …]\n"), "{body}");
        assert!(body.lines().count() < 1100, "{body}");
    }

    #[test]
    fn secrets_are_redacted_before_the_text_is_changed_or_cut() {
        let key = format!("ghp_{}", "a1B2c3D4".repeat(5));
        // Each text is cut in the middle of the key.
        let pad = |length: usize| "x".repeat(length - 10) + " ";
        let mut branch = outgoing();
        branch.commits = vec![format!("abc1234 {}{key}", pad(COMMIT_MAX - 8))];
        branch.stat = format!(" {}{key} {}", pad(STAT_MAX / 2), "y".repeat(STAT_MAX));
        let secret = task(&json!({
            "subject": format!("{}{key}", pad(TITLE_MAX)),
            "description": format!("postgres://ada:s3cr3t!@db/x\n{}{key} {}", pad(DESCRIPTION_MAX / 2 - 40), "y".repeat(DESCRIPTION_MAX)),
            "checks": [{"name": format!("{}{key}", pad(60)), "outcome": "red", "override": format!("{}{key}", pad(200))}],
        }));
        let found = text(Some(&secret), "", &branch);
        for text in [&found.title, &found.body] {
            assert!(!text.contains("ghp_"), "{text}");
            assert!(!text.contains("s3cr3t"), "{text}");
        }
        // A token without a known shape is known from the environment.
        let known = Redactor::new([("ACME_TOKEN".into(), "correct horse battery".into())]);
        let own = task(&json!({"description": "Use correct horse battery."}));
        let found = text_with(Some(&own), "", &outgoing(), &known);
        assert!(
            found.body.contains("> Use [redacted: ACME_TOKEN].\n"),
            "{}",
            found.body
        );
    }
}
