//! Tests that a compaction without gain is not applied and that no compaction is reported as growth.

use pretty_assertions::assert_eq;

use super::length_tests::{asks, grown, keep, reply};
use super::*;
use crate::agent::compact::LengthLimit;
use crate::domain::chat;
use crate::protocol::event::NoticeLevel;

/// Runs a turn that the model answers with `words`, then a compaction for which it writes `summary`. The server reports
/// `counted` tokens for each request; system prompt and tools are estimated at `front` tokens.
fn asked_to_compact(
    words: &str,
    counted: u64,
    front: u64,
    summary: &str,
) -> (Turn, Vec<TurnEffect>) {
    let mut turn = Turn::new(TurnLimits::default());
    turn.set_budget(LengthLimit::default(), front);
    turn.step(TurnInput::Say(vec![Block::text("hello")]));
    turn.step(TurnInput::Mail(vec![]));
    turn.step(reply(
        vec![Block::text(words)],
        StopReason::EndTurn,
        counted,
    ));
    turn.step(TurnInput::Compact {
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
fn compaction_never_grows_or_reports_growth() {
    // The server does not count system prompt and tools, so the estimated size of the result exceeds the server's
    // count.
    let (_, effects) = asked_to_compact(&"words ".repeat(800), 1300, 3500, "we talked");
    let [
        TurnEffect::Replace(_),
        TurnEffect::Compacted(compaction),
        TurnEffect::End(TurnEnd::Done),
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert!(compaction.after < compaction.before, "{compaction:?}");
    // The summary is as long as the conversation: nothing is replaced, and a notice says why.
    let (turn, effects) = asked_to_compact("fine", 20, 3500, &"we talked ".repeat(100));
    let [
        TurnEffect::Notice(NoticeLevel::Info, why),
        TurnEffect::End(TurnEnd::Done),
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert!(why.starts_with("Not compacted"), "{why}");
    assert_eq!(turn.messages()[0].text(), "hello");
    assert_eq!(turn.messages().len(), 2);
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
}

#[test]
fn failed_archive_of_a_requested_compaction_names_the_request() {
    let (mut turn, _) = grown(100, "fine");
    turn.step(reply(vec![Block::text("done")], StopReason::EndTurn, 100));
    let focus = String::new();
    asks(&turn.step(TurnInput::Compact { focus }));
    turn.step(reply(vec![Block::text("s")], StopReason::EndTurn, 100));
    let why = "no space left".to_string();
    let effects = turn.step(TurnInput::ArchiveFailed { why });
    let Some(TurnEffect::End(TurnEnd::Failed { error, hint })) = effects.last() else {
        panic!("{effects:?}")
    };
    assert_eq!(
        error,
        "the conversation was not compacted, because it could not be archived: no space left"
    );
    assert!(hint.ends_with("then run /compact again."), "{hint}");
}
