//! A session that is resumed with `--resume` keeps the limits of roles and presets.

use crewdeck::domain::conversation::LogRecord;
use crewdeck::domain::team::Member;
use crewdeck::domain::team_preset::LeadMode;
use pretty_assertions::assert_eq;

use super::{KilledCrew, member};
use crate::common::project::Project;

/// A script in which bob writes `own.txt` and his subagent writes `sub.txt`.
const WRITE: &str = r"
rules:
  - agent: bob
    when: Write it
    calls:
      - { tool: write_file, input: { path: own.txt, content: x } }
      - { tool: task, input: { prompt: Write more, kind: general } }
  - when: Write more
    calls: [{ tool: write_file, input: { path: sub.txt, content: x } }]
  - times: 0
    say: Noted.
";

/// Resumes a crew in which bob has the role `checker` and the first prompt of [`WRITE`]. `file` is the role's file, if
/// there is one. Returns the files that were written, and the standard error.
fn resume(file: Option<&str>, edit: impl FnOnce(&mut Member)) -> (Vec<&'static str>, String) {
    let crew = KilledCrew::new(Project::new());
    if let Some(text) = file {
        std::fs::create_dir_all(crew.project.file(".claude/agents")).unwrap();
        crew.project.write(".claude/agents/checker.md", text);
    }
    let mut bob = member("bob");
    bob.role = "checker".into();
    bob.first = "Write it".into();
    edit(&mut bob);
    crew.enter(bob);
    let ran = crew.resume(WRITE, &[]);
    let mut written = vec!["own.txt", "sub.txt"];
    written.retain(|name| crew.project.file(name).exists());
    (written, ran.err())
}

#[test]
fn free_text_role_keeps_all_tools_on_resume() {
    let (written, errors) = resume(None, |_| {});
    assert_eq!(written, ["own.txt", "sub.txt"], "{errors}");
}

#[test]
fn member_without_its_role_only_reads_on_resume() {
    let (written, errors) = resume(None, |bob| bob.role_defined = true);
    assert_eq!(written, [""; 0]);
    let notice = "bob can only read files: the role 'checker' no longer exists";
    assert!(errors.contains(notice), "{errors}");
}

#[test]
fn member_with_a_broken_role_only_reads_on_resume() {
    let broken = "---\nname: checker\ndescription: x\nTools: Read\n---\nCheck.";
    for is_defined in [false, true] {
        let (written, errors) = resume(Some(broken), |bob| bob.role_defined = is_defined);
        assert_eq!(written, [""; 0]);
        let notice = "bob can only read files: the role 'checker' cannot be used: .claude/agents/checker.md: line 4: ";
        assert!(errors.contains(notice), "{errors}");
    }
}

#[test]
fn role_limits_subagents_of_a_resumed_member() {
    let role = "---\nname: checker\ndescription: x\ntools: Read, Task\n---\nCheck.";
    let (written, errors) = resume(Some(role), |bob| bob.role_defined = true);
    assert_eq!(written, [""; 0], "{errors}");
    let denied = "---\nname: checker\ndescription: x\ndisallowedTools: Read\n---\nCheck.";
    let (written, _) = resume(Some(denied), |bob| bob.role_defined = true);
    assert_eq!(written, ["own.txt", "sub.txt"]);
}

#[test]
fn lead_of_a_preset_still_delegates_on_resume() {
    let script = r"
rules:
  - agent: lead
    when: interrupted|continue|Continue
    calls: [{ tool: write_file, input: { path: own.txt, content: x } }]
  - times: 0
    say: Noted.
";
    for lead in [LeadMode::Work, LeadMode::Delegate] {
        let crew = KilledCrew::new(Project::new());
        crew.append_log(
            "lead",
            &[LogRecord::Lead { lead }, super::user_record("continue")],
        );
        crew.resume(script, &[]);
        let is_written = crew.project.file("own.txt").exists();
        assert_eq!(is_written, lead == LeadMode::Work);
    }
}

#[test]
fn compaction_keeps_the_lead_delegating() {
    let script = r"
rules:
  - agent: lead
    when: crewdeck stopped in the middle
    calls: [{ tool: compact, input: {} }]
  - times: 0
    say: Noted.
";
    let crew = KilledCrew::new(Project::new());
    let lead = LeadMode::Delegate;
    crew.append_log(
        "lead",
        &[LogRecord::Lead { lead }, super::user_record("continue")],
    );
    crew.resume(script, &[]);
    let rewritten = crew.conversation("lead");
    assert!(rewritten.messages.iter().all(|m| m.text() != "go"));
    assert_eq!(rewritten.lead, lead);
}
