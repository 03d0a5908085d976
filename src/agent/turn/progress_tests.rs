//! Step tables of a turn that compacts its conversation without progress in between.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::agent::compact::{KeptState, LengthLimit};
use crate::domain::chat::{self, Outcome, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::usage::Usage;

fn reply(blocks: Vec<Block>, tokens: u64) -> TurnInput {
    TurnInput::Replied(Reply {
        blocks,
        stop: StopReason::EndTurn,
        usage: Usage {
            input: tokens,
            ..Usage::default()
        },
    })
}

fn turn() -> Turn {
    let mut turn = Turn::new(TurnLimits::default());
    let budget = LengthLimit {
        window: 1000,
        compact_at: 80,
    };
    turn.set_budget(budget, 0);
    turn.step(TurnInput::Say(vec![Block::text("go")]));
    assert_eq!(
        turn.step(TurnInput::Mail(vec![])).last(),
        Some(&TurnEffect::Call)
    );
    turn
}

/// Runs one round: the model calls `bash`, which returns `result`. The server counts `tokens` tokens.
fn round(turn: &mut Turn, result: &str, tokens: u64) -> Vec<TurnEffect> {
    call(turn, "bash", json!({}), result, tokens)
}

/// Runs one round like [`round`], but with a call of the tool `name`.
fn call(turn: &mut Turn, name: &str, input: Value, result: &str, tokens: u64) -> Vec<TurnEffect> {
    let call = ToolCall {
        id: CallId("a".into()),
        name: name.into(),
        input,
        broken: None,
    };
    turn.step(reply(vec![Block::ToolCall(call)], tokens));
    turn.step(TurnInput::ToolDone {
        call: CallId("a".into()),
        content: result.into(),
        outcome: Outcome::Ok,
    })
}

/// Answers the turn's request for a summary. `work` identifies the state of files, board and messages; `None` means
/// that it is unknown.
fn summary(turn: &mut Turn, work: Option<u64>) -> Vec<TurnEffect> {
    let effects = turn.step(reply(vec![Block::text("so far")], 900));
    assert_eq!(effects, vec![TurnEffect::Archive]);
    turn.step(TurnInput::Archived(Box::new(KeptState {
        work,
        ..KeptState::default()
    })))
}

/// Runs two rounds whose results depend on `nth`, then a compaction.
fn cycle(turn: &mut Turn, nth: usize, work: Option<u64>) -> Vec<TurnEffect> {
    round(turn, &format!("{nth} one"), 100);
    turn.step(TurnInput::Mail(vec![]));
    round(turn, &format!("{nth} two"), 900);
    let effects = turn.step(TurnInput::Mail(vec![]));
    assert!(
        matches!(effects.last(), Some(TurnEffect::Summarise(_))),
        "{effects:?}"
    );
    summary(turn, work)
}

fn stop_reason(effects: &[TurnEffect]) -> &str {
    match effects.last() {
        Some(TurnEffect::End(TurnEnd::Stopped { why })) => why,
        _ => panic!("{effects:?}"),
    }
}

#[test]
fn two_compactions_without_progress_end_the_turn() {
    let mut turn = turn();
    assert_eq!(cycle(&mut turn, 1, Some(7)).last(), Some(&TurnEffect::Call));
    let effects = cycle(&mut turn, 2, Some(7));
    assert!(
        stop_reason(&effects).contains("no progress between two compactions"),
        "{effects:?}"
    );
    let is_reported = effects.iter().any(
        |e| matches!(e, TurnEffect::Notice(NoticeLevel::Warn, text) if text.contains("Turn ended")),
    );
    assert!(is_reported, "{effects:?}");
    assert!(turn.is_idle());
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
    // A message starts a new turn, and compactions are counted from zero.
    assert_eq!(
        turn.step(TurnInput::Say(vec![Block::text("go on")])),
        vec![TurnEffect::CheckMail]
    );
    assert_eq!(
        turn.step(TurnInput::Mail(vec![])).last(),
        Some(&TurnEffect::Call)
    );
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
    assert_eq!(cycle(&mut turn, 3, Some(7)).last(), Some(&TurnEffect::Call));
}

#[test]
fn change_between_compactions_continues_the_turn() {
    let mut turn = turn();
    for nth in 0..10 {
        let effects = cycle(&mut turn, nth, Some(nth as u64));
        assert_eq!(effects.last(), Some(&TurnEffect::Call), "{nth}");
    }
    // An unknown state does not count as lack of progress.
    for nth in 10..14 {
        let effects = cycle(&mut turn, nth, None);
        assert_eq!(effects.last(), Some(&TurnEffect::Call), "{nth}");
    }
}

#[test]
fn message_between_compactions_continues_the_turn() {
    let mut turn = turn();
    cycle(&mut turn, 1, Some(7));
    turn.step(TurnInput::Say(vec![Block::text("look at b too")]));
    assert_eq!(cycle(&mut turn, 2, Some(7)).last(), Some(&TurnEffect::Call));
    round(&mut turn, "three", 100);
    turn.step(TurnInput::Mail(vec![Block::text("<inbox>news</inbox>")]));
    assert_eq!(cycle(&mut turn, 3, Some(7)).last(), Some(&TurnEffect::Call));
    stop_reason(&cycle(&mut turn, 4, Some(7)));
}

#[test]
fn user_requested_compaction_is_not_counted() {
    let mut turn = turn();
    cycle(&mut turn, 1, Some(7));
    let focus = "the tests".to_string();
    turn.step(TurnInput::Compact { focus });
    round(&mut turn, "x", 100);
    turn.step(TurnInput::Mail(vec![]));
    assert_eq!(summary(&mut turn, Some(7)).last(), Some(&TurnEffect::Call));
    // A compaction that the model requests counts as a sign of a loop.
    cycle(&mut turn, 2, Some(7));
    let focus = "the tests".to_string();
    turn.step(TurnInput::OwnCompaction { focus });
    round(&mut turn, "y", 100);
    turn.step(TurnInput::Mail(vec![]));
    stop_reason(&summary(&mut turn, Some(7)));
}

#[test]
fn calls_from_before_a_compaction_count_as_repeated() {
    let mut turn = turn();
    let mut effects = Vec::new();
    // Every third round is the same. The fifth of these rounds ends the turn, although there are compactions between
    // them.
    for nth in 0..6 {
        for other in 0..2 {
            round(&mut turn, &format!("{nth} {other}"), 100);
            turn.step(TurnInput::Mail(vec![]));
        }
        effects = round(&mut turn, "the same", 900);
        if turn.is_idle() {
            break;
        }
        turn.step(TurnInput::Mail(vec![]));
        summary(&mut turn, Some(nth));
    }
    assert!(stop_reason(&effects).contains("5 times"), "{effects:?}");
}

#[test]
fn reading_new_files_between_compactions_is_progress() {
    let mut turn = turn();
    let read = |turn: &mut Turn, path: &str| {
        call(turn, "read_file", json!({ "path": path }), "text", 900);
        turn.step(TurnInput::Mail(vec![]));
        summary(turn, Some(7))
    };
    for path in ["a", "b", "c", "d"] {
        assert_eq!(
            read(&mut turn, path).last(),
            Some(&TurnEffect::Call),
            "{path}"
        );
    }
    // Reading a file again is no progress.
    assert!(stop_reason(&read(&mut turn, "a")).contains("nothing new was read"));
}
