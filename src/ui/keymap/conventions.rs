//! Rules that all default key bindings follow: each key has one meaning, each action can be reached without Alt, and
//! hints are words.

use std::collections::BTreeMap;

use crate::ui::keymap::{Action, Context, SLASH, TABLE};

/// Returns the meaning of an action, such as `move`. Different actions with the same meaning may share a key.
fn action_meaning(action: Action) -> String {
    use Action as A;
    let group = match action {
        A::Move(_)
        | A::Pan(_)
        | A::Next
        | A::Prev
        | A::NextPane
        | A::PrevPane
        | A::NextMatch
        | A::PrevMatch
        | A::NextPrompt
        | A::PrevPrompt
        | A::NextFile
        | A::PrevFile
        | A::Follow => "move",
        A::Open | A::Peek | A::Subagent | A::Accept => "open",
        A::Back | A::Close => "back",
        A::AskShutdown | A::Kill => "stop",
        A::Approve | A::ApproveSettings => "approve",
        A::EditTask | A::EditComment | A::ReadInEditor | A::EditInEditor => "edit",
        A::Copy | A::CopyMenu | A::CopyWorktreePath => "copy",
        A::Filter | A::Search => "search",
        other => return other.word(),
    };
    group.into()
}

/// Keys that have a different meaning in one context than in the others, with the reason. docs/keys.md names them.
const EXCEPTIONS: &[(Context, &[&str], &str)] = &[
    (
        Context::FirstRun,
        &["r", "g", "w", "m", "d"],
        "the setup page replaces the conversation and shows each key beside its action",
    ),
    (
        Context::Servers,
        &["r", "d", "L"],
        "the hint line shows the actions of a server, which nothing else has",
    ),
    (
        Context::EventLog,
        &["!"],
        "`!` stands for problems there and in the filter",
    ),
    (
        Context::EventLog,
        &["space", "@"],
        "a page down, as in a pager; the key that opened the popup closes it",
    ),
    (
        Context::Reader,
        &["space"],
        "pagers turn the page with this key",
    ),
    (
        Context::Costs,
        &["space", "$"],
        "a page down, as in a pager; the key that opened the popup closes it",
    ),
    (
        Context::Jobs,
        &["b"],
        "the key that opened the popup closes it",
    ),
    (
        Context::Peek,
        &["space"],
        "the key that opened the preview closes it",
    ),
    (Context::Confirm, &["y", "n", "ctrl+c"], YES_OR_NO),
    (
        Context::ConfirmMerge,
        &["y", "n", "ctrl+c", "A"],
        "a dialog is answered with y or n, and `A` is all, as for a request",
    ),
    (
        Context::ConfirmLoss,
        &["X", "n", "ctrl+c"],
        "`X` destroys something, as in the team",
    ),
    (
        Context::ConfirmRewind,
        &["b", "f", "c", "n", "ctrl+c"],
        "the dialog shows each key beside what it restores",
    ),
    (Context::Leave, &["y", "n", "ctrl+c"], YES_OR_NO),
    (
        Context::Choices,
        &["1", "2", "3", "4", "5", "6"],
        "the choices of a question have these numbers on the screen",
    ),
    (
        Context::Replay,
        &["space", "[", "]"],
        "a recording is played, and players have these keys",
    ),
];

const YES_OR_NO: &str = "a dialog is answered with y or n";

#[test]
fn key_has_one_meaning_in_panes_and_popups() {
    let in_panes = |context| {
        let others = [
            Context::Panes,
            Context::Everywhere,
            Context::Choices,
            Context::Replay,
            Context::FirstRun,
            Context::Reader,
            Context::Diff,
            Context::Jobs,
            Context::Servers,
            Context::Costs,
            Context::Peek,
            Context::EventLog,
            Context::CommentVerdict,
            Context::Confirm,
            Context::ConfirmMerge,
            Context::ConfirmLoss,
            Context::ConfirmRewind,
            Context::Leave,
        ];
        matches!(context, Context::In(_)) || others.contains(&context)
    };
    let mut meanings: BTreeMap<&str, Vec<(String, Context)>> = BTreeMap::new();
    for line in TABLE.iter().filter(|line| in_panes(line.context)) {
        for key in line.keys {
            let is_exception = EXCEPTIONS
                .iter()
                .any(|(context, keys, _)| *context == line.context && keys.contains(key));
            if !is_exception {
                let meaning = (action_meaning(line.action), line.context);
                meanings.entry(key).or_default().push(meaning);
            }
        }
    }
    for (context, keys, _) in EXCEPTIONS {
        for key in *keys {
            let row = TABLE
                .iter()
                .find(|row| row.context == *context && row.keys.contains(key));
            assert!(row.is_some(), "{context:?} has no key {key}");
        }
    }
    for (key, found) in meanings {
        let is_one = found.iter().all(|(meaning, _)| *meaning == found[0].0);
        assert!(is_one, "{key} has several meanings: {found:?}");
    }
}

#[test]
fn alt_key_has_another_way() {
    for line in TABLE {
        let is_alt = |key: &&&str| key.contains("alt+");
        let needs_way = line.keys.iter().any(|key| is_alt(&key));
        let has_key = line.keys.iter().any(|key| !is_alt(&key));
        // The help lists all keys of a binding, but a slash command only if the description names it.
        let has_command = SLASH
            .iter()
            .any(|(word, action, _)| *action == line.action && line.words.contains(word));
        assert!(
            !needs_way || has_key || has_command,
            "{:?} {:?}: on a Mac, Option types symbols",
            line.context,
            line.keys
        );
    }
}

#[test]
fn hint_labels_are_words() {
    for line in TABLE.iter().filter(|line| !line.hint.is_empty()) {
        let is_word = line.hint.chars().any(char::is_lowercase) && line.hint.len() > 1;
        // The hint of a replay jump is a duration, such as `10 s`.
        assert!(is_word || line.hint.ends_with(" s"), "{line:?}");
    }
}
