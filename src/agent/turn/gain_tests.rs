//! A compaction that gains nothing is not applied, and none is reported as growth.

use pretty_assertions::assert_eq;

use super::length_tests::{keep, reply};
use super::*;
use crate::agent::compact::Budget;
use crate::domain::chat;
use crate::protocol::event::Level;

/// A turn that was answered with `words`, counted as `counted` tokens beside a system prompt and tools of `front`.
fn asked_to_compact(words: &str, counted: u64, front: u64, summary: &str) -> (Turn, Vec<Effect>) {
    let mut turn = Turn::new(Limits::default());
    turn.set_budget(Budget::default(), front);
    turn.step(Input::Say(vec![Block::text("hello")]));
    turn.step(Input::Mail(vec![]));
    turn.step(reply(
        vec![Block::text(words)],
        StopReason::EndTurn,
        counted,
    ));
    turn.step(Input::Compact {
        focus: String::new(),
    });
    turn.step(reply(
        vec![Block::text(summary)],
        StopReason::EndTurn,
        counted,
    ));
    let effects = turn.step(keep());
    (turn, effects)
}

#[test]
fn a_compaction_never_grows_and_never_tells_of_growth() {
    // The server counts neither system prompt nor tools: the estimate of what is left is larger than its whole count.
    let (_, effects) = asked_to_compact(&"words ".repeat(800), 1300, 3500, "we talked");
    let [
        Effect::Replace(_),
        Effect::Compacted(told),
        Effect::End(TurnEnd::Done),
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert!(told.after < told.before, "{told:?}");
    // A summary as long as what was said: it stays as it was, and the user hears why.
    let (turn, effects) = asked_to_compact("fine", 20, 3500, &"we talked ".repeat(100));
    let [Effect::Notice(Level::Info, why), Effect::End(TurnEnd::Done)] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(why.starts_with("Not compacted"), "{why}");
    assert_eq!(turn.messages()[0].words(), "hello");
    assert_eq!(turn.messages().len(), 2);
    assert_eq!(chat::check(&turn.messages()), Ok(()));
}
