//! The active keymap: the default bindings with the user's changes.

use crate::ui::keymap::{Action, Context, TABLE};
use crate::ui::keys;

const NO_KEY: &str = "no key";

/// A binding of keys to an action in one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyBinding {
    pub context: Context,
    /// The keys of the action. Each entry is one key in the syntax of `keys::parse`, or two keys separated by a space
    /// that are pressed one after the other. The screen shows the first entry. An action without keys is available in
    /// the palette, and possibly as a slash command or with the mouse.
    pub keys: Vec<String>,
    pub action: Action,
    /// The description of the action in the help and the palette.
    pub words: &'static str,
    /// The label of the action in the hint line; empty if the hint line does not show the action.
    pub hint: &'static str,
}

impl KeyBinding {
    /// Returns the first key, formatted for display; empty if the action has no key.
    pub fn display_key(&self) -> String {
        self.keys
            .first()
            .map(|k| keys::format_key(k))
            .unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLookup {
    Action(Action),
    /// The key is the first one of a two-key sequence.
    Prefix,
    /// The key is not bound. If a text input has the focus, it inserts the key as text.
    Nothing,
}

/// The bindings of all contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    pub(super) bound: Vec<KeyBinding>,
}

impl Default for KeyMap {
    fn default() -> KeyMap {
        let own = |keys: &[&str]| keys.iter().map(|k| (*k).to_string()).collect();
        let bound = TABLE.iter().map(|line| KeyBinding {
            context: line.context,
            keys: own(line.keys),
            action: line.action,
            words: line.words,
            hint: line.hint,
        });
        KeyMap {
            bound: bound.collect(),
        }
    }
}

impl KeyMap {
    /// Looks up `name`, which is a key or two keys separated by a space. Searches the contexts in the given order; the
    /// first binding that is found decides.
    pub fn lookup(&self, contexts: &[Context], name: &str) -> KeyLookup {
        for context in contexts {
            for bound in self.in_context(*context) {
                if bound.keys.iter().any(|key| key == name) {
                    return KeyLookup::Action(bound.action);
                }
                let first = |key: &String| key.split_once(' ').is_some_and(|(a, _)| a == name);
                if bound.keys.iter().any(first) {
                    return KeyLookup::Prefix;
                }
            }
        }
        KeyLookup::Nothing
    }
    pub fn lines(&self) -> impl Iterator<Item = &KeyBinding> {
        self.bound.iter()
    }

    pub fn in_context(&self, context: Context) -> impl Iterator<Item = &KeyBinding> {
        self.bound.iter().filter(move |b| b.context == context)
    }

    /// Replaces placeholders in `text` with keys of this keymap. For example, `{board.merge}` becomes the key of the
    /// action `merge` in the context `board`, or `no key` if the action has no key there or does not exist. A `{` without a
    /// `}` after it is left as it is.
    pub fn expand_keys(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((name, after)) = behind.split_once('}') else {
                break;
            };
            let shown = self
                .bound
                .iter()
                .filter(|b| b.name() == name)
                .map(KeyBinding::display_key);
            let key = shown.into_iter().find(|key| !key.is_empty());
            out.push_str(before);
            out.push_str(key.as_deref().unwrap_or(NO_KEY));
            rest = after;
        }
        out + rest
    }

    /// Returns the first key of an action in a context, formatted for display. Returns `no key` if the action has none.
    pub fn key(&self, context: Context, action: Action) -> String {
        self.in_context(context)
            .filter(|b| b.action == action)
            .map(KeyBinding::display_key)
            .find(|key| !key.is_empty())
            .unwrap_or_else(|| NO_KEY.into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::ui::keymap::direction::Scroll;
    use crate::ui::keymap::pane::Pane;

    #[test]
    fn default_keys_round_trip_through_the_parser() {
        for line in TABLE {
            for chord in line.keys.iter().flat_map(|key| key.split(' ')) {
                let parsed = keys::parse(chord).unwrap();
                assert_eq!(keys::name_of(parsed).as_deref(), Some(chord));
            }
        }
    }

    #[test]
    fn keys_are_unique_within_a_context() {
        let mut seen = HashSet::new();
        for line in TABLE {
            for key in line.keys {
                let place = (line.context, *key);
                assert!(seen.insert(place), "{key} twice in {:?}", line.context);
            }
        }
    }

    #[test]
    fn specific_context_wins_and_prefixes_are_found() {
        let map = KeyMap::default();
        let composer = [Context::Composer, Context::Everywhere];
        let board = [
            Context::In(Pane::Board),
            Context::Panes,
            Context::Everywhere,
        ];
        let lead = [Context::In(Pane::Lead), Context::Panes, Context::Everywhere];
        let bottom = Action::Move(Scroll::Bottom);
        let cases = [
            (&composer[..], "w", KeyLookup::Nothing),
            (&composer[..], "ctrl+x", KeyLookup::Prefix),
            (
                &composer[..],
                "ctrl+x e",
                KeyLookup::Action(Action::EditInEditor),
            ),
            (&board[..], "w", KeyLookup::Action(Action::Waiting)),
            (&board[..], "enter", KeyLookup::Action(Action::Open)),
            (&lead[..], "end", KeyLookup::Action(Action::Follow)),
            (&board[..], "end", KeyLookup::Action(bottom)),
            (&board[..], "Z", KeyLookup::Nothing),
        ];
        for (contexts, key, expected) in cases {
            assert_eq!(map.lookup(contexts, key), expected, "{key}");
        }
    }

    #[test]
    fn placeholders_become_current_keys() {
        let map = KeyMap::default();
        let cases = [
            (
                "{panes.focus_board}, then {board.merge} merges",
                "3, then m merges",
            ),
            ("{everywhere.interrupt} stops it", "Ctrl+c stops it"),
            ("{board.no_such} {", "no key {"),
            ("no keys", "no keys"),
        ];
        for (text, expected) in cases {
            assert_eq!(map.expand_keys(text), expected);
        }
    }

    #[test]
    fn first_key_of_an_action_is_shown() {
        let map = KeyMap::default();
        let board = Context::In(Pane::Board);
        let cases = [
            (Context::Everywhere, Action::Waiting, "Alt+w"),
            (Context::Panes, Action::Waiting, "w"),
            (board, Action::Waiting, NO_KEY),
        ];
        for (context, action, expected) in cases {
            assert_eq!(map.key(context, action), expected, "{context:?} {action:?}");
        }
    }
}
