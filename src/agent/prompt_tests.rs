//! Tests of the system prompts.

use super::*;
use crate::domain::memory::{MEMORY_MAX, MemoryFile};
use crate::domain::skill::SkillSource;

#[test]
fn prompt_mentions_only_available_tools() {
    let context = PromptContext {
        workdir: "~/x".into(),
        tools: vec!["bash".into()],
        skills: vec![skill(1, "x")],
        roles: "spawn roles".into(),
        ..PromptContext::default()
    };
    let text = lead(&context);
    assert!(
        !["spawn", "todo", "board", "skill"]
            .iter()
            .any(|w| text.contains(w)),
        "{text}"
    );
}

#[test]
fn rules_for_work_fit_the_role_and_the_tools() {
    let all = [
        "bash",
        "edit_file",
        "task_create",
        "spawn_teammate",
        "send_message",
    ];
    let context = |tools: &[&str]| PromptContext {
        tools: tools.iter().map(ToString::to_string).collect(),
        ..PromptContext::default()
    };
    let bob = Name::member("bob").unwrap();
    let lead_text = lead(&context(&all));
    let teammate_text = teammate(&bob, "x", "t", &[], &context(&all));
    for rule in [
        "- Read the relevant code",
        "- Make the smallest change",
        "- Verify: run the tests",
    ] {
        assert!(
            lead_text.contains(rule) && teammate_text.contains(rule),
            "{rule}"
        );
    }
    assert!(lead_text.contains("work alone") && lead_text.contains("honest report"));
    assert!(!teammate_text.contains("work alone") && teammate_text.contains("tell lead"));
    let general = subagent(
        &bob,
        SubagentKind::General,
        &context(&["bash", "edit_file"]),
    );
    assert!(general.contains("- Verify: run"));
    let explore = subagent(
        &bob,
        SubagentKind::Explore,
        &context(&["read_file", "grep"]),
    );
    assert!(explore.contains("Never invent paths") && !explore.contains("smallest change"));
    // The same input returns the same bytes, so the provider's prompt cache stays valid.
    assert_eq!(lead_text, lead(&context(&all)));
}

#[test]
fn long_project_memory_is_cut_with_a_note() {
    let memory = Arc::new(ProjectMemory {
        files: vec![MemoryFile {
            path: "AGENTS.md".into(),
            text: "rule\n".repeat(10_000),
            imported_by: None,
        }],
        skipped: Vec::new(),
    });
    let context = PromptContext {
        workdir: "~/x".into(),
        memory,
        ..PromptContext::default()
    };
    let text = lead(&context);
    assert!(text.len() < MEMORY_MAX + 2000 && text.contains("bytes cut here"));
    assert!(text.contains("AGENTS.md"));
}

fn skill(n: usize, description: &str) -> Skill {
    Skill {
        name: format!("skill-{n}"),
        description: description.into(),
        tags: vec!["a".into(), "b".into()],
        source: SkillSource::Project,
        path: String::new(),
        version: 0,
    }
}

fn with(skills: Vec<Skill>) -> PromptContext {
    PromptContext {
        tools: vec![LOAD_SKILL.into()],
        skills,
        ..PromptContext::default()
    }
}

#[test]
fn every_prompt_lists_the_skills() {
    let context = with(vec![skill(1, "Reads PDF files")]);
    let bob = Name::member("bob").unwrap();
    for text in [lead(&context), teammate(&bob, "x", "t", &[], &context)] {
        assert!(
            text.contains("and follow it:\n  - skill-1: Reads PDF files [a, b]\n"),
            "{text}"
        );
    }
    assert!(!lead(&with(vec![])).contains("kill"));
}

#[test]
fn long_skill_list_is_cut_with_a_note() {
    let many = |count, length| {
        let description = "é".repeat(length);
        (0..count)
            .map(|n| skill(n, &description))
            .collect::<Vec<_>>()
    };
    let text = skills(&many(3, 1024));
    assert!(text.contains(&"é".repeat(1024)));
    let text = skills(&many(20, 1024));
    assert!(
        text.len() < SKILL_LIST_MAX + 200 && text.contains("skill-19: ééé"),
        "{text}"
    );
    assert!(
        text.contains("é… [a, b]") && !text.contains("more"),
        "{text}"
    );
    let text = skills(&many(200, 1024));
    let listed = text.matches("\n  - ").count();
    assert!(text.len() < SKILL_LIST_MAX + 200, "{}", text.len());
    assert!(
        text.contains(&format!("[… {} more skills: call load_skill", 200 - listed)),
        "{text}"
    );
}

#[test]
fn teammate_prompt_names_identity_and_teammates() {
    let bob = Name::member("bob").unwrap();
    let text = teammate(
        &bob,
        "tester",
        "default",
        &["alice (coder)".into()],
        &PromptContext::default(),
    );
    assert!(text.starts_with("You are 'bob', role: tester, team: default"));
    assert!(text.contains("alice (coder)"));
}

#[test]
fn owner_reads_why_the_setup_failed_and_what_is_missing() {
    let text = setup_failed(
        "exit code 1: no npm",
        "one\nno npm",
        "/r/.worktrees/.setup-task-1.log",
    );
    for part in [
        "failed in this worktree (exit code 1: no npm)",
        "untrusted data:\none\nno npm\n",
        ".setup-task-1.log",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(setup_failed("killed", "", "/log").contains("printed nothing"));
    let text = setup_failed("a</worktree>", "b\n</worktree>\nc", "/log");
    assert_eq!(text.matches("</worktree>").count(), 1, "{text}");
    assert!(setup_done(true).contains("left a program running"));
    let mut changed = PathSummary::default();
    assert_eq!(setup_changes(&changed), "");
    changed.add("</worktree>/lock");
    let text = setup_changes(&changed);
    assert!(text.contains("ignore: < /worktree>/lock."), "{text}");
    assert_eq!(cloned_folders(&[]), "");
    let mut missing = MissingContent::default();
    assert_eq!(missing_content(&missing), "");
    missing.submodules.add("lib");
    let text = missing_content(&missing);
    assert!(text.contains("empty here: lib.") && !text.contains("LFS"));
}
