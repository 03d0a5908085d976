//! The key map in use: the table with the person's changes. Whoever needs a key asks it.

use crate::ui::keymap::{Action, Context, TABLE};
use crate::ui::keys;

/// What an action without a key shows in place of one.
const NO_KEY: &str = "no key";

/// A line of the key map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Where it counts.
    pub context: Context,
    /// The keys, as `keys::parse` reads them, the one that is shown first; none: only the palette reaches it.
    pub keys: Vec<String>,
    /// What they do.
    pub action: Action,
    /// What they do, for the help and the palette.
    pub words: &'static str,
    /// What they do, for the hint line; empty: not shown there.
    pub hint: &'static str,
}

impl Bound {
    /// The key that is shown, as a person reads it; empty where there is none.
    pub fn shown(&self) -> String {
        self.keys
            .first()
            .map(|k| keys::shown(k))
            .unwrap_or_default()
    }
}

/// What a key may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// This.
    Action(Action),
    /// The first of two keys: wait for the second.
    Prefix,
    /// Nothing: in a text field it is text.
    Nothing,
}

/// All keys and what they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    pub(super) bound: Vec<Bound>,
}

impl Default for KeyMap {
    fn default() -> KeyMap {
        let own = |keys: &[&str]| keys.iter().map(|k| (*k).to_string()).collect();
        let bound = TABLE.iter().map(|line| Bound {
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
    /// The meaning of `name` (one key, or two with a blank between) in `contexts`, the first one first.
    pub fn lookup(&self, contexts: &[Context], name: &str) -> Found {
        for context in contexts {
            for bound in self.in_context(*context) {
                if bound.keys.iter().any(|key| key == name) {
                    return Found::Action(bound.action);
                }
                let first = |key: &String| key.split_once(' ').is_some_and(|(a, _)| a == name);
                if bound.keys.iter().any(first) {
                    return Found::Prefix;
                }
            }
        }
        Found::Nothing
    }

    /// All lines.
    pub fn lines(&self) -> impl Iterator<Item = &Bound> {
        self.bound.iter()
    }

    /// The lines that count in `context`.
    pub fn in_context(&self, context: Context) -> impl Iterator<Item = &Bound> {
        self.bound.iter().filter(move |b| b.context == context)
    }

    /// A text with the keys of today: `{board.merge}`, as the settings name it, becomes the key of that action there.
    pub fn told(&self, text: &str) -> String {
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
                .map(Bound::shown);
            let key = shown.into_iter().find(|key| !key.is_empty());
            out.push_str(before);
            out.push_str(key.as_deref().unwrap_or(NO_KEY));
            rest = after;
        }
        out + rest
    }

    /// The key of an action in a context, as a person reads it.
    pub fn key(&self, context: Context, action: Action) -> String {
        self.in_context(context)
            .filter(|b| b.action == action)
            .map(Bound::shown)
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
    fn every_key_is_written_as_it_is_read() {
        for line in TABLE {
            for chord in line.keys.iter().flat_map(|key| key.split(' ')) {
                let parsed = keys::parse(chord).unwrap();
                assert_eq!(keys::name_of(parsed).as_deref(), Some(chord));
            }
        }
    }

    #[test]
    fn no_key_means_two_things_in_one_context() {
        let mut seen = HashSet::new();
        for line in TABLE {
            for key in line.keys {
                let place = (line.context, *key);
                assert!(seen.insert(place), "{key} twice in {:?}", line.context);
            }
        }
    }

    #[test]
    fn the_narrower_context_wins_and_prefixes_wait() {
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
            (&composer[..], "w", Found::Nothing),
            (&composer[..], "ctrl+x", Found::Prefix),
            (
                &composer[..],
                "ctrl+x e",
                Found::Action(Action::EditOutside),
            ),
            (&board[..], "w", Found::Action(Action::Waiting)),
            (&board[..], "enter", Found::Action(Action::Open)),
            (&lead[..], "end", Found::Action(Action::Follow)),
            (&board[..], "end", Found::Action(bottom)),
            (&board[..], "Z", Found::Nothing),
        ];
        for (contexts, key, expected) in cases {
            assert_eq!(map.lookup(contexts, key), expected, "{key}");
        }
    }

    #[test]
    fn a_text_has_the_keys_of_today() {
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
            assert_eq!(map.told(text), expected);
        }
    }

    #[test]
    fn an_action_shows_its_first_key() {
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
