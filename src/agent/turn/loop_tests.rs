//! Step tables of a turn that repeats itself or continues for too long.

use super::tests::{asks, calling_turn, done, reads, text, tool};
use super::*;
use crate::domain::chat;

#[test]
fn the_third_repetition_reminds_the_model_before_the_turn_ends() {
    let mut turn = calling_turn(reads());
    let reminders: Vec<bool> = (1..progress::LOOP_MAX)
        .map(|_| {
            turn.step(asks(&[tool("a", "bash")]));
            turn.step(done("a"));
            turn.step(TurnInput::Mail(vec![]));
            let text = turn.messages().last().unwrap().text();
            text.contains("got the same results")
        })
        .collect();
    assert_eq!(reminders, [false, false, true, true]);
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
}

#[test]
fn repeated_calls_end_the_turn() {
    let mut turn = calling_turn(reads());
    for round in 1.. {
        turn.step(asks(&[tool("a", "bash")]));
        let effects = turn.step(done("a"));
        if effects == vec![TurnEffect::CheckMail] {
            turn.step(TurnInput::Mail(vec![]));
            continue;
        }
        assert_eq!(round, progress::LOOP_MAX);
        assert!(
            effects
                .iter()
                .any(|e| matches!(e, TurnEffect::Notice(NoticeLevel::Warn, _)))
        );
        assert!(matches!(
            effects.last(),
            Some(TurnEffect::End(TurnEnd::Stopped { .. }))
        ));
        assert_eq!(chat::validate(&turn.messages()), Ok(()));
        return;
    }
}

#[test]
fn turn_has_a_limit_of_rounds() {
    let mut turn = calling_turn(TurnLimits {
        rounds: Some(2),
        ..reads()
    });
    for id in ["a", "b"] {
        turn.step(asks(&[tool(id, "bash")]));
        turn.step(done(id));
        let effects = turn.step(TurnInput::Mail(vec![]));
        let expected = id == "b";
        let ended = matches!(
            effects.last(),
            Some(TurnEffect::End(TurnEnd::Stopped { .. }))
        );
        assert_eq!(ended, expected, "{effects:?}");
    }
    turn.step(TurnInput::Say(vec![text("go on")]));
    assert_eq!(
        turn.step(TurnInput::Mail(vec![])).last(),
        Some(&TurnEffect::Call),
        "a new phase counts from zero"
    );
}
