//! Tests of a turn whose conversation grows too long.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::agent::compact::{KeptState, LengthLimit, SummaryRequest};
use crate::domain::chat::{self, Outcome, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::usage::Usage;
use crate::model::{ErrorKind, ModelError};
use crate::protocol::event::CompactionMethod;

fn tool(id: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: CallId(id.into()),
        name: "bash".into(),
        input: json!({}),
        broken: None,
    })
}

pub(super) fn reply(blocks: Vec<Block>, stop: StopReason, tokens: u64) -> TurnInput {
    let usage = Usage {
        input: tokens,
        ..Usage::default()
    };
    TurnInput::Replied(Reply {
        blocks,
        stop,
        usage,
    })
}

fn model_failure(fault: ErrorKind) -> TurnInput {
    TurnInput::ModelFailed {
        error: ModelError::new(fault, "it failed", ""),
        jitter: 0.5,
        fallback: FallbackState::None,
    }
}

pub(super) fn keep() -> TurnInput {
    TurnInput::Archived(Box::new(KeptState {
        transcript: ".transcripts/x.jsonl".into(),
        ..KeptState::default()
    }))
}

/// Returns a turn that is about to make its second model call, and the effects of its last step. The window has 1000
/// tokens, the server counted `tokens` of them for the first call, and a tool then returned `output`.
pub(super) fn grown(tokens: u64, output: &str) -> (Turn, Vec<TurnEffect>) {
    let mut turn = Turn::new(TurnLimits::default());
    let budget = LengthLimit {
        window: 1000,
        compact_at: 80,
    };
    turn.set_budget(budget, 0);
    turn.step(TurnInput::Say(vec![Block::text("go")]));
    turn.step(TurnInput::Mail(vec![]));
    turn.step(reply(vec![tool("a")], StopReason::ToolUse, tokens));
    turn.step(TurnInput::ToolDone {
        call: CallId("a".into()),
        content: output.into(),
        outcome: Outcome::Ok,
    });
    let effects = turn.step(TurnInput::Mail(vec![]));
    (turn, effects)
}

pub(super) fn asks(effects: &[TurnEffect]) -> &SummaryRequest {
    match effects.last() {
        Some(TurnEffect::Summarise(question)) => question,
        _ => panic!("{effects:?}"),
    }
}

#[test]
fn summary_is_requested_only_above_the_limit() {
    let (_, effects) = grown(700, "fine");
    assert_eq!(effects.last(), Some(&TurnEffect::Call));
    let (mut turn, effects) = grown(800, "fine");
    assert_eq!(asks(&effects).system, None);
    // Text that was added after the last count is included.
    let (_, effects) = grown(700, &"x".repeat(500));
    asks(&effects);

    let effects = turn.step(reply(
        vec![Block::text("so far so good")],
        StopReason::EndTurn,
        900,
    ));
    assert_eq!(effects, vec![TurnEffect::Archive]);
    let effects = turn.step(keep());
    let [
        TurnEffect::Replace(messages),
        TurnEffect::Compacted(compaction),
        TurnEffect::Call,
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!(messages.len(), 1);
    assert!(messages[0].text().contains("so far so good"));
    assert!(messages[0].text().contains("<person-said>\ngo\n"));
    assert_eq!(compaction.before, 801);
    assert!(compaction.after < 300, "{compaction:?}");
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
    // The turn continues after the compaction.
    let effects = turn.step(reply(vec![Block::text("done")], StopReason::EndTurn, 90));
    assert_eq!(effects.last(), Some(&TurnEffect::End(TurnEnd::Done)));
}

#[test]
fn summary_is_not_summarised_again() {
    let (mut turn, _) = grown(900, "fine");
    let long = "x".repeat(10_000);
    turn.step(reply(vec![Block::text(long)], StopReason::EndTurn, 900));
    let effects = turn.step(keep());
    assert_eq!(
        effects.last(),
        Some(&TurnEffect::Call),
        "the server has the last word"
    );
    // The summary does not fit either, so the turn ends.
    let effects = turn.step(model_failure(ErrorKind::ContextTooLong));
    assert!(
        matches!(
            effects.last(),
            Some(TurnEffect::End(TurnEnd::Failed { .. }))
        ),
        "{effects:?}"
    );
    assert!(turn.is_idle());
}

/// The system prompt and the tools alone fill the window, so a summary frees nothing.
#[test]
fn too_small_window_warns_once_and_skips_summaries() {
    let mut turn = Turn::new(TurnLimits::default());
    let budget = LengthLimit {
        window: 4096,
        compact_at: 80,
    };
    turn.set_budget(budget, 3500);
    turn.step(TurnInput::Say(vec![Block::text("never say ZEBRA")]));
    let effects = turn.step(TurnInput::Mail(vec![]));
    let [
        TurnEffect::Save(_),
        TurnEffect::Notice(NoticeLevel::Warn, text),
        TurnEffect::Call,
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert!(text.contains("3500 of the 4096 tokens"), "{text}");
    turn.step(reply(vec![tool("a")], StopReason::ToolUse, 3600));
    turn.step(TurnInput::ToolDone {
        call: CallId("a".into()),
        content: "fine".into(),
        outcome: Outcome::Ok,
    });
    let effects = turn.step(TurnInput::Mail(vec![]));
    assert!(
        matches!(effects[..], [TurnEffect::Save(_), TurnEffect::Call]),
        "{effects:?}"
    );
    // If the server refuses, a summary is the last resort; it contains the user message.
    asks(&turn.step(model_failure(ErrorKind::ContextTooLong)));
    turn.step(reply(vec![Block::text("s")], StopReason::EndTurn, 100));
    turn.step(keep());
    assert!(turn.messages()[0].text().contains("never say ZEBRA"));
}

#[test]
fn too_long_first_message_suggests_a_larger_window() {
    let mut turn = Turn::new(TurnLimits::default());
    turn.step(TurnInput::Say(vec![Block::text("go")]));
    turn.step(TurnInput::Mail(vec![]));
    let effects = turn.step(model_failure(ErrorKind::ContextTooLong));
    let Some(TurnEffect::End(TurnEnd::Failed { hint, .. })) = effects.last() else {
        panic!("{effects:?}")
    };
    assert!(hint.contains("larger context window"), "{hint}");
}

/// Each tool result fills the window, so every round requests a summary.
#[test]
fn loop_ends_despite_compaction_in_each_round() {
    let (mut turn, mut effects) = grown(900, "the same");
    for _ in 0..4 {
        asks(&effects);
        turn.step(reply(vec![Block::text("s")], StopReason::EndTurn, 100));
        turn.step(keep());
        turn.step(reply(vec![tool("a")], StopReason::ToolUse, 900));
        let done = TurnInput::ToolDone {
            call: CallId("a".into()),
            content: "the same".into(),
            outcome: Outcome::Ok,
        };
        effects = turn.step(done);
        if turn.is_idle() {
            break;
        }
        effects = turn.step(TurnInput::Mail(vec![]));
    }
    assert!(
        matches!(
            effects.last(),
            Some(TurnEffect::End(TurnEnd::Stopped { .. }))
        ),
        "{effects:?}"
    );
}

#[test]
fn context_overflow_summarises_a_digest_and_continues() {
    let (mut turn, _) = grown(300, "fine");
    let effects = turn.step(model_failure(ErrorKind::ContextTooLong));
    assert!(asks(&effects).system.is_some());
    turn.step(reply(
        vec![Block::text("half done")],
        StopReason::EndTurn,
        100,
    ));
    let effects = turn.step(keep());
    assert_eq!(effects.last(), Some(&TurnEffect::Call));
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
}

#[test]
fn answer_cut_off_by_the_window_is_continued() {
    let (mut turn, _) = grown(300, "fine");
    let effects = turn.step(reply(
        vec![Block::text("and th")],
        StopReason::ContextExceeded,
        1000,
    ));
    asks(&effects);
    turn.step(reply(
        vec![Block::text("summary")],
        StopReason::EndTurn,
        100,
    ));
    let effects = turn.step(keep());
    assert_eq!(effects.last(), Some(&TurnEffect::Call));
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
}

#[test]
fn failed_summary_is_retried_and_changes_nothing() {
    let (mut turn, _) = grown(900, "fine");
    let before = turn.messages();
    let effects = turn.step(model_failure(ErrorKind::Server));
    assert!(
        matches!(effects.last(), Some(TurnEffect::Wait { attempt: 1, .. })),
        "{effects:?}"
    );
    let effects = turn.step(TurnInput::RetryDue);
    assert_eq!(asks(&effects).system, None);
    // The conversation is too long, so a digest is sent.
    let effects = turn.step(model_failure(ErrorKind::ContextTooLong));
    assert!(asks(&effects).system.is_some());
    let effects = turn.step(model_failure(ErrorKind::Auth));
    let Some(TurnEffect::End(TurnEnd::Failed { error, .. })) = effects.last() else {
        panic!("{effects:?}")
    };
    let words = "the conversation could not be summarised: it failed";
    assert!(error.starts_with(words), "{error}");
    assert_eq!(turn.messages(), before);
}

#[test]
fn empty_summary_is_requested_once_more() {
    let (mut turn, _) = grown(900, "fine");
    let effects = turn.step(reply(vec![tool("z")], StopReason::ToolUse, 900));
    assert!(asks(&effects).system.is_some());
    let effects = turn.step(reply(vec![], StopReason::EndTurn, 900));
    assert_eq!(effects, vec![TurnEffect::Archive]);
    let effects = turn.step(keep());
    let Some(TurnEffect::Replace(messages)) = effects.first() else {
        panic!("{effects:?}")
    };
    assert!(messages[0].text().contains("No summary generated."));
}

#[test]
fn unarchived_conversation_is_not_replaced() {
    let (mut turn, _) = grown(900, "fine");
    let before = turn.messages();
    turn.step(reply(vec![Block::text("s")], StopReason::EndTurn, 900));
    let why = "no space left".to_string();
    let effects = turn.step(TurnInput::ArchiveFailed { why });
    let Some(TurnEffect::End(TurnEnd::Failed { error, .. })) = effects.last() else {
        panic!("{effects:?}")
    };
    assert!(error.contains("no space left"), "{error}");
    assert_eq!(turn.messages(), before);
}

/// Checks over 300 rounds that a server could have cached the beginning of each request.
#[test]
fn request_prefix_is_stable_between_compactions() {
    let mut turn = Turn::new(TurnLimits::default());
    let window = 20_000;
    let budget = LengthLimit {
        window,
        compact_at: 80,
    };
    turn.set_budget(budget, 0);
    turn.step(TurnInput::Say(vec![Block::text("go")]));
    let mut effects = turn.step(TurnInput::Mail(vec![]));
    let mut before = turn.messages();
    let (mut broken, mut small, mut whole) = (0, 0, 0);
    for n in 0..300 {
        while let Some(TurnEffect::Summarise(_)) = effects.last() {
            turn.step(reply(vec![Block::text("so far")], StopReason::EndTurn, 0));
            effects = turn.step(keep());
        }
        assert_eq!(effects.last(), Some(&TurnEffect::Call));
        for effect in &effects {
            if let TurnEffect::Compacted(compaction) = effect {
                let freed = compaction.before - compaction.after;
                assert!(freed >= window / 4, "{compaction:?}");
                match compaction.how {
                    CompactionMethod::Results { .. } => small += 1,
                    CompactionMethod::Summary { .. } => whole += 1,
                }
            }
        }
        assert!(turn.context() < window * 85 / 100, "{}", turn.context());
        let sent = turn.messages();
        broken += usize::from(!sent.starts_with(&before));
        before = sent;
        let id = format!("c{n}");
        turn.step(reply(vec![tool(&id)], StopReason::ToolUse, 0));
        turn.step(TurnInput::ToolDone {
            call: CallId(id),
            content: format!("{n}{}", "x".repeat(3000)),
            outcome: Outcome::Ok,
        });
        effects = turn.step(TurnInput::Mail(vec![]));
        assert_eq!(chat::validate(&turn.messages()), Ok(()));
    }
    // 300 results of 750 tokens; a small compaction frees all but three of the 21 that fit at first.
    assert_eq!(broken, small + whole);
    assert!(
        (10..=25).contains(&small) && whole <= 2,
        "{small} small, {whole} whole"
    );
}

#[test]
fn requested_compaction_works_between_and_within_turns() {
    let (mut turn, _) = grown(300, "fine");
    let focus = || "the tests".to_string();
    assert_eq!(turn.step(TurnInput::Compact { focus: focus() }), vec![]);
    turn.step(reply(vec![tool("b")], StopReason::ToolUse, 310));
    turn.step(TurnInput::ToolDone {
        call: CallId("b".into()),
        content: "ok".into(),
        outcome: Outcome::Ok,
    });
    let effects = turn.step(TurnInput::Mail(vec![]));
    assert!(
        asks(&effects)
            .messages
            .last()
            .unwrap()
            .text()
            .contains("the tests")
    );
    turn.step(reply(vec![Block::text("s")], StopReason::EndTurn, 300));
    assert_eq!(turn.step(keep()).last(), Some(&TurnEffect::Call));
    turn.step(reply(vec![Block::text("done")], StopReason::EndTurn, 50));
    assert!(turn.is_idle());

    let effects = turn.step(TurnInput::Compact { focus: focus() });
    asks(&effects);
    turn.step(reply(vec![Block::text("s")], StopReason::EndTurn, 60));
    let effects = turn.step(keep());
    assert_eq!(effects.last(), Some(&TurnEffect::End(TurnEnd::Done)));
    assert!(turn.is_idle());

    let mut empty = Turn::new(TurnLimits::default());
    let effects = empty.step(TurnInput::Compact { focus: focus() });
    assert_eq!(effects.last(), Some(&TurnEffect::End(TurnEnd::Done)));
}

#[test]
fn message_during_a_summary_is_answered() {
    let limits = TurnLimits {
        rounds: Some(1),
        ..TurnLimits::default()
    };
    let mut turn = Turn::new(limits);
    turn.step(TurnInput::Say(vec![Block::text("go")]));
    turn.step(TurnInput::Mail(vec![]));
    turn.step(reply(vec![Block::text("done")], StopReason::EndTurn, 50));
    let focus = String::new();
    asks(&turn.step(TurnInput::Compact { focus }));
    assert_eq!(
        turn.step(TurnInput::Say(vec![Block::text("and now")])),
        vec![]
    );
    turn.step(reply(vec![Block::text("s")], StopReason::EndTurn, 60));
    let effects = turn.step(keep());
    assert_eq!(effects.last(), Some(&TurnEffect::CheckMail), "{effects:?}");
    let effects = turn.step(TurnInput::Mail(vec![]));
    let said = Message::user(vec![Block::text("and now")]);
    assert_eq!(effects, vec![TurnEffect::Save(said), TurnEffect::Call]);
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
}

#[test]
fn compaction_requested_during_last_answer_runs_after_it() {
    let (mut turn, _) = grown(300, "fine");
    let focus = "the tests".to_string();
    assert_eq!(turn.step(TurnInput::Compact { focus }), vec![]);
    let effects = turn.step(reply(vec![Block::text("done")], StopReason::EndTurn, 310));
    assert!(matches!(effects[0], TurnEffect::Save(_)), "{effects:?}");
    let question = asks(&effects).messages.last().unwrap().text();
    assert!(question.contains("the tests"), "{question}");
    turn.step(reply(vec![Block::text("s")], StopReason::EndTurn, 300));
    let effects = turn.step(keep());
    assert_eq!(effects.last(), Some(&TurnEffect::End(TurnEnd::Done)));
    // An interrupt drops the user's request for a compaction.
    let (mut turn, _) = grown(300, "fine");
    let focus = String::new();
    turn.step(TurnInput::Compact { focus });
    let partial = String::new();
    turn.step(TurnInput::Interrupt { partial });
    turn.step(TurnInput::Say(vec![Block::text("on")]));
    let effects = turn.step(TurnInput::Mail(vec![]));
    assert_eq!(effects.last(), Some(&TurnEffect::Call), "{effects:?}");
}

#[test]
fn interrupted_summary_leaves_the_conversation_unchanged() {
    let (mut turn, _) = grown(900, "fine");
    let before = turn.messages();
    let partial = "never shown".to_string();
    let effects = turn.step(TurnInput::Interrupt { partial });
    assert_eq!(effects, vec![TurnEffect::End(TurnEnd::Interrupted)]);
    assert_eq!(turn.messages(), before);
    assert_eq!(
        turn.step(reply(vec![Block::text("late")], StopReason::EndTurn, 9)),
        vec![]
    );
    assert_eq!(turn.step(keep()), vec![]);
}
