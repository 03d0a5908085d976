//! Properties of the turn under any order of inputs.

use proptest::prelude::*;

use super::tests::{done, error, reads, reply, text, tool};
use super::*;
use crate::agent::compact::{KeptState, LengthLimit};
use crate::domain::chat;
use crate::model::ErrorKind;

fn any_input() -> impl Strategy<Value = TurnInput> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    let blocks = prop::collection::vec(
        prop_oneof![
            Just(text("words")),
            Just(text("  ")),
            id.clone().prop_map(|i| Block::ToolCall(tool(i, "bash"))),
            id.clone().prop_map(|i| Block::ToolCall(tool(i, "grep"))),
            Just(Block::Thinking {
                text: "hm".into(),
                signature: None,
                origin: None,
            }),
        ],
        0..4,
    );
    let stop = prop::sample::select(vec![
        StopReason::EndTurn,
        StopReason::ToolUse,
        StopReason::MaxTokens,
        StopReason::PauseTurn,
        StopReason::Refusal,
        StopReason::ContextExceeded,
    ]);
    let fault = prop::sample::select(vec![
        ErrorKind::Auth,
        ErrorKind::Truncated,
        ErrorKind::ContextTooLong,
    ]);
    prop_oneof![
        Just(TurnInput::Say(vec![text("say")])),
        Just(TurnInput::Mail(vec![])),
        Just(TurnInput::Mail(vec![text("mail")])),
        (blocks, stop).prop_map(|(blocks, stop)| reply(blocks, stop)),
        fault.prop_map(error),
        Just(TurnInput::RetryDue),
        id.prop_map(done),
        Just(TurnInput::TodoSet(true)),
        Just(TurnInput::Compact {
            focus: String::new()
        }),
        Just(TurnInput::OwnCompaction {
            focus: String::new()
        }),
        Just(TurnInput::Archived(Box::default())),
        Just(TurnInput::Archived(Box::new(KeptState {
            work: Some(1),
            ..KeptState::default()
        }))),
        Just(TurnInput::ArchiveFailed { why: "x".into() }),
        Just(TurnInput::Stop { why: "x".into() }),
        Just(TurnInput::Interrupt {
            partial: "par".into()
        }),
    ]
}

proptest! {
    /// Guarantee 8 of docs/GUARANTEES.md: for any inputs in any order, requests and the conversation between turns are
    /// valid.
    #[test]
    fn conversation_is_always_valid(inputs in prop::collection::vec(any_input(), 0..60)) {
        let mut turn = Turn::new(reads());
        // Small enough that some conversations are shortened.
        let budget = LengthLimit { window: 40, compact_at: 80 };
        turn.set_budget(budget, 0);
        for input in inputs {
            let effects = turn.step(input);
            if effects.contains(&TurnEffect::Call) || turn.is_idle() {
                prop_assert_eq!(chat::validate(&turn.messages()), Ok(()));
            }
            for effect in effects {
                if let TurnEffect::Summarise(question) = effect {
                    prop_assert_eq!(chat::validate(&question.messages), Ok(()));
                }
            }
        }
    }
}
