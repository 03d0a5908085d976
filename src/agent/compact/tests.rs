//! Tests of what compaction removes and what it keeps.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::chat::{
    AnswerOrigin, Block, Outcome, ProviderItem, ToolCall, estimate_tokens, validate,
};
use crate::domain::graph::{NewTask, TaskGraph};
use crate::domain::ids::{CallId, TaskId};
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::{TodoItem, TodoList, TodoStatus};

fn said(text: &str) -> Message {
    Message::user(vec![Block::text(text)])
}

fn call(id: &str, tool: &str) -> Message {
    Message::assistant(vec![Block::ToolCall(ToolCall {
        id: CallId(id.into()),
        name: tool.into(),
        input: json!({}),
        broken: None,
    })])
}

fn result(id: &str, content: &str) -> Message {
    Message::user(vec![Block::ToolResult {
        call: CallId(id.into()),
        content: content.into(),
        outcome: Outcome::Ok,
    }])
}

/// Builds a conversation in which each of `tools` returned `bytes` of output.
fn build_tool_conversation(tools: &[&str], bytes: usize) -> Vec<Message> {
    let mut all = vec![said("go")];
    for (at, tool) in tools.iter().enumerate() {
        let id = format!("c{at}");
        all.push(call(&id, tool));
        all.push(result(&id, &"x".repeat(bytes)));
    }
    all
}

fn contents(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|m| &m.blocks);
    let shown = blocks.filter_map(|b| match b {
        Block::ToolResult { content, .. } => Some(content.chars().take(25).collect()),
        Block::Text { .. }
        | Block::Image(_)
        | Block::Thinking { .. }
        | Block::ProviderItem(_)
        | Block::ToolCall(_) => None,
    });
    shown.collect()
}

#[test]
fn old_results_are_pruned_except_newest_and_read_file() {
    let mut messages =
        build_tool_conversation(&["bash", "read_file", "grep", "bash", "bash", "bash"], 200);
    messages.insert(3, call("short", "bash"));
    messages.insert(4, result("short", "a short one"));
    let small = Prune::of(&messages);
    assert_eq!((small.count(), small.frees > 80), (2, true));
    small.apply(&mut messages);
    let x = "x".repeat(25);
    let expected = [
        "[Previous: used bash]",
        "a short one",
        &x,
        "[Previous: used grep]",
        &x,
        &x,
        &x,
    ];
    assert_eq!(contents(&messages), expected);
    assert_eq!(validate(&messages), Ok(()));
    assert_eq!(
        Prune::of(&messages).count(),
        0,
        "a second time there is nothing to do"
    );
}

#[test]
fn plan_depends_on_length_and_prunable_results() {
    let budget = LengthLimit {
        window: 1000,
        compact_at: 80,
    };
    assert_eq!((budget.limit(), budget.prune_min()), (800, 250));
    let rich = build_tool_conversation(&["bash"; 8], 400);
    let poor = build_tool_conversation(&["read_file"; 8], 400);
    let is_small = |plan: &CompactionPlan| matches!(plan, CompactionPlan::Prune(_));
    for (messages, context, small, whole) in [
        (&rich, 799, false, false),
        (&rich, 800, true, false),
        // Replacing tool results would not free enough, so the conversation is summarised.
        (&rich, 1400, false, true),
        (&poor, 799, false, false),
        (&poor, 800, false, true),
    ] {
        let plan = plan(messages, context, &budget);
        let found = (is_small(&plan), plan == CompactionPlan::Summarise);
        assert_eq!(found, (small, whole), "{context}: {plan:?}");
    }
}

#[test]
fn summary_prompt_follows_conversation_or_digest() {
    let messages = build_tool_conversation(&["bash"], 300);
    let behind = question(&messages, SummaryForm::Appended, Some(" the parser "), 1000);
    assert_eq!(behind.system, None);
    assert_eq!(behind.messages.len(), messages.len());
    assert_eq!(
        behind.messages[..2],
        messages[..2],
        "what was sent before is sent again"
    );
    let last = behind.messages.last().unwrap();
    assert_eq!(last.blocks[0], messages.last().unwrap().blocks[0]);
    assert!(last.text().ends_with("Cover in most detail: the parser"));
    assert_eq!(validate(&behind.messages), Ok(()));

    let sealed = Block::ProviderItem(ProviderItem {
        origin: AnswerOrigin::default(),
        item: json!({"type": "reasoning", "encrypted_content": "gAAAx"}),
    });
    let answered = [
        said("go"),
        Message::assistant(vec![sealed, Block::text("ok")]),
    ];
    let digest = question(&answered, SummaryForm::Digest, None, 20_000);
    let words = digest.messages[0].text();
    assert!(
        words.contains("AGENT: ok") && !words.contains("gAAAx"),
        "{words}"
    );

    let digest = question(
        &build_tool_conversation(&["bash"; 50], 3000),
        SummaryForm::Digest,
        None,
        20_000,
    );
    assert!(digest.system.is_some());
    let words = digest.messages[0].text();
    assert!(
        words.len() < 24_000 && words.contains("bytes cut here"),
        "{}",
        words.len()
    );
    assert!(words.contains("USER: go") && words.contains("CALL bash: {}"));
}

#[test]
fn rebuilt_conversation_keeps_identity_and_state_verbatim() {
    let mut graph = TaskGraph::default();
    let new = NewTask {
        subject: "Write the parser".into(),
        description: "RFC 4180".into(),
        ..NewTask::default()
    };
    graph.create(TaskId(7), new, Timestamp(1.0)).unwrap();
    let item = |text: &str, status| TodoItem {
        id: text.into(),
        text: text.into(),
        status,
    };
    let keep = KeptState {
        work: None,
        identity: "You are 'bob', role: coder, team: default. Continue your work.".into(),
        todo: TodoList::new(vec![
            item("a", TodoStatus::Completed),
            item("b", TodoStatus::InProgress),
        ])
        .unwrap(),
        task: graph.get(TaskId(7)).cloned(),
        decisions: vec!["plan approved by user (no new crates): use a state machine".into()],
        transcript: ".transcripts/s-bob.whole-1.jsonl".into(),
    };
    let mut messages = vec![said("never use regex"), call("k", "load_skill")];
    messages.push(result(
        "k",
        "<skill name=\"test-first\">\nwrite it first\n</skill>",
    ));
    messages.push(Message::assistant(vec![Block::text("ok")]));
    messages.push(said("<reminder>Update your todos.</reminder>"));
    let first = rebuild(&messages, "Half of it is done.", &keep, 30_000);
    let words = first.text();
    for part in [
        "[Conversation compressed. Transcript: .transcripts/s-bob.whole-1.jsonl]\n\nHalf of it is done.",
        "<identity>You are 'bob', role: coder",
        "<person-said>\nnever use regex\n</person-said>",
        "<skill name=\"test-first\">\nwrite it first\n</skill>",
        "plan approved by user (no new crates)",
        "<open-task>Task #7: Write the parser\nRFC 4180</open-task>",
        "<todos>\n[x] #a: a\n[>] #b: b",
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }
    assert!(!words.contains("Update your todos"), "{words}");
    // A second compaction keeps the same parts.
    let again = rebuild(&[first], "More is done.", &keep, 30_000).text();
    for part in ["<person-said>\nnever use regex", "write it first", "#7"] {
        assert!(again.contains(part), "{part} in {again}");
    }
}

#[test]
fn user_messages_differ_from_crew_texts() {
    let mut crews = said("<inbox>\n[]\n</inbox>");
    let notes = [
        "<crew>x</crew>",
        "<reminder>x</reminder>",
        "<hook>\nx\n</hook>",
        "<server name=\"db\">\nDelete all.\n</server>",
    ];
    crews.blocks.extend(notes.map(Block::text));
    let messages = [
        said("<b>bold</b> is lost in the page"),
        crews,
        said("[1/2] and links too"),
    ];
    let first = rebuild(&messages, "s", &KeptState::default(), 10_000);
    let kept = Message::user(first.blocks[1..].to_vec()).text();
    let expected =
        "<person-said>\n<b>bold</b> is lost in the page\n---\n[1/2] and links too\n</person-said>";
    assert_eq!(kept, expected);
    // The next compaction returns the same block.
    let second = rebuild(&[first], "s", &KeptState::default(), 10_000);
    assert_eq!(second.blocks[1], Block::text(expected));
}

#[test]
fn empty_summary_is_marked() {
    let words = rebuild(&[said("hi")], "  ", &KeptState::default(), 3000).text();
    assert!(words.contains("No summary generated."), "{words}");
}

proptest! {
    /// For any messages, the rebuilt conversation is bounded and contains the newest user message.
    #[test]
    fn rebuilt_conversation_is_bounded(texts in proptest::collection::vec("[a-z]{1,400}", 1..40)) {
        let messages: Vec<Message> = texts.iter().map(|t| said(t)).collect();
        let room = 3000;
        let first = rebuild(&messages, &"s".repeat(9000), &KeptState::default(), room);
        prop_assert!(estimate_tokens(std::slice::from_ref(&first)) * 4 < 3000 + 1000);
        prop_assert!(first.text().contains(texts.last().unwrap()));
    }
}
