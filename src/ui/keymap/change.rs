//! The person's changes to the keys: the names of actions and contexts, and clear words for what does not fit.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::ui::keymap::{Action, Bound, Context, KeyMap};
use crate::ui::keys;

/// What the person wants changed: an action, alone (`approve`) or in one context (`board.merge`), and the keys that it
/// has from then on in place of the ones before; none: it has no key.
pub type Changes = BTreeMap<String, Vec<String>>;

/// Why a change does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such action.
    #[error("[keys] there is no action `{name}`: did you mean `{nearest}`?")]
    Unknown {
        /// What is written.
        name: String,
        /// The known one that is most like it.
        nearest: String,
    },
    /// There is such an action, and it does nothing in that context.
    #[error("[keys] `{action}` has no meaning in `{context}`: write {known}")]
    NotThere {
        /// The action.
        action: String,
        /// The context that is written.
        context: String,
        /// Where it has one, as it is written.
        known: String,
    },
    /// The key can not be read.
    #[error("[keys] `{name}`: {why}")]
    BadKey {
        /// The action.
        name: String,
        /// Why, and what a key looks like.
        why: String,
    },
    /// Who presses the key there wants to write it.
    #[error(
        "[keys] `{name}`: `{key}` is text while writing: take a key with ctrl or alt, or a named one as f5"
    )]
    IsText {
        /// The action, in its context.
        name: String,
        /// The key.
        key: String,
    },
    /// The key means something else in the same context.
    #[error(
        "[keys] `{name}`: `{key}` already means `{other}` there ({words}); unbind it with \"{other}\" = [], or take another key"
    )]
    Clash {
        /// The action, in its context.
        name: String,
        /// The key.
        key: String,
        /// What it means already, in its context.
        other: String,
        /// That in words.
        words: &'static str,
    },
}

/// The word of a value in the settings: its name in the code in `snake_case`, so that `Move(LineDown)` is `move_line_down`.
/// What has a line in the table has its word by that.
fn word(value: &impl Debug) -> String {
    let mut out = String::new();
    for c in format!("{value:?}").chars() {
        if c.is_uppercase() || c == '(' {
            if !out.is_empty() && !out.ends_with('_') {
                out.push('_');
            }
            out.extend(c.to_lowercase().filter(char::is_ascii_alphanumeric));
        } else if c.is_ascii_digit() || c.is_lowercase() {
            out.push(c);
        }
    }
    out
}

impl Action {
    /// Its word in the settings.
    pub fn word(self) -> String {
        word(&self)
    }
}

impl Context {
    /// Its word in the settings; that of a pane's keys is the pane's.
    pub fn word(self) -> String {
        match self {
            Context::In(pane) => word(&pane),
            other => word(&other),
        }
    }

    /// Whether a plain key is text there.
    fn is_writing(self) -> bool {
        matches!(
            self,
            Context::Everywhere
                | Context::Composer
                | Context::Completion
                | Context::Filter
                | Context::Picker
                | Context::Comment
        )
    }
}

impl Bound {
    /// Its action in its context, as the settings name it.
    pub fn name(&self) -> String {
        format!("{}.{}", self.context.word(), self.action.word())
    }
}

impl KeyMap {
    /// The table with the person's changes.
    ///
    /// # Errors
    /// The first change that names no action, no key, or a key that means something else there.
    pub fn changed(changes: &Changes) -> Result<KeyMap, ChangeError> {
        let mut map = KeyMap::default();
        let mut touched = vec![false; map.bound.len()];
        // What is said of one context counts more than what is said of all.
        let (narrow, wide): (Vec<_>, Vec<_>) = changes.iter().partition(|(n, _)| n.contains('.'));
        for (name, keys) in wide.into_iter().chain(narrow) {
            let keys = keys.iter().map(|key| canonical(name, key));
            let keys: Vec<String> = keys.collect::<Result<_, _>>()?;
            let mut given: Vec<Context> = Vec::new();
            for at in places(&map, name)? {
                let line = &mut map.bound[at];
                // Where the table has two lines for it, the first one takes all keys.
                let is_first = !given.contains(&line.context);
                line.keys = if is_first { keys.clone() } else { Vec::new() };
                given.push(line.context);
                touched[at] = true;
            }
        }
        check(&map, &touched)?;
        Ok(map)
    }
}

/// The lines that `name` means.
fn places(map: &KeyMap, name: &str) -> Result<Vec<usize>, ChangeError> {
    let (context, action) = match name.split_once('.') {
        Some((context, action)) => (Some(context), action),
        None => (None, name),
    };
    let all = map.bound.iter().enumerate();
    let of_action: Vec<(usize, &Bound)> = all.filter(|(_, b)| b.action.word() == action).collect();
    if of_action.is_empty() {
        return Err(ChangeError::Unknown {
            name: name.into(),
            nearest: nearest(map, action),
        });
    }
    let is_there = |b: &Bound| context.is_none_or(|c| b.context.word() == c);
    let found: Vec<usize> = of_action
        .iter()
        .filter(|(_, b)| is_there(b))
        .map(|(at, _)| *at)
        .collect();
    if found.is_empty() {
        let mut known: Vec<String> = of_action.iter().map(|(_, b)| b.name()).collect();
        known.dedup();
        let known: Vec<String> = known.iter().map(|k| format!("\"{k}\"")).collect();
        return Err(ChangeError::NotThere {
            action: action.into(),
            context: context.unwrap_or_default().into(),
            known: known.join(" or "),
        });
    }
    Ok(found)
}

fn nearest(map: &KeyMap, action: &str) -> String {
    let words = map.bound.iter().map(|b| b.action.word());
    words
        .map(|word| (strsim::jaro_winkler(action, &word), word))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
        .unwrap_or_default()
}

/// A key as the key map has it: `shift+g` is `G`, `ctrl+X` is `ctrl+x`.
fn canonical(name: &str, key: &str) -> Result<String, ChangeError> {
    let bad = |why: String| ChangeError::BadKey {
        name: name.into(),
        why,
    };
    let chords: Vec<&str> = key.split_whitespace().collect();
    if chords.is_empty() || chords.len() > 2 {
        let why = format!("{key:?} is no key: write one, or two with a blank between, as ctrl+x e");
        return Err(bad(why));
    }
    let one = |chord: &&str| {
        let mut event = keys::parse(chord).map_err(|e| bad(e.to_string()))?;
        if let (KeyCode::Char(c), true) =
            (event.code, event.modifiers.contains(KeyModifiers::SHIFT))
        {
            let upper = c.to_uppercase().next();
            event.code = KeyCode::Char(upper.unwrap_or(c));
        }
        keys::name_of(event).ok_or_else(|| bad(format!("{chord:?} is no key that terminals send")))
    };
    let chords: Vec<String> = chords.iter().map(one).collect::<Result<_, _>>()?;
    Ok(chords.join(" "))
}

/// Whether a text field takes the key as text.
fn is_text(key: &str) -> bool {
    let first = key.split(' ').next().unwrap_or(key);
    first.chars().count() == 1 || matches!(first, "space" | "backspace" | "delete")
}

fn check(map: &KeyMap, touched: &[bool]) -> Result<(), ChangeError> {
    for (at, line) in map.bound.iter().enumerate().filter(|(at, _)| touched[*at]) {
        for key in &line.keys {
            if line.context.is_writing() && is_text(key) {
                return Err(ChangeError::IsText {
                    name: line.name(),
                    key: key.clone(),
                });
            }
            let others = map.bound.iter().enumerate();
            let here = others.filter(|(o, b)| *o != at && b.context == line.context);
            for (_, other) in here.filter(|(_, b)| b.action != line.action) {
                if other.keys.iter().any(|k| collide(k, key)) {
                    return Err(ChangeError::Clash {
                        name: line.name(),
                        key: key.clone(),
                        other: other.name(),
                        words: other.words,
                    });
                }
            }
        }
    }
    Ok(())
}

/// Whether one of two keys hides the other: they are the same, or one is the first of the other's two.
fn collide(a: &str, b: &str) -> bool {
    let begins = |long: &str, short: &str| long.split_once(' ').is_some_and(|(f, _)| f == short);
    a == b || begins(a, b) || begins(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::keymap::direction::Scroll;
    use crate::ui::keymap::pane::Pane;
    use crate::ui::keymap::{Found, TABLE};

    fn changes(pairs: &[(&str, &[&str])]) -> Changes {
        let own = |keys: &[&str]| keys.iter().map(|k| (*k).to_string()).collect();
        let pairs = pairs.iter().map(|(n, keys)| ((*n).to_string(), own(keys)));
        pairs.collect()
    }

    #[test]
    fn words_are_snake_case_and_each_action_has_its_own() {
        let cases = [
            (Action::Approve, "approve"),
            (Action::ApproveForTeam, "approve_for_team"),
            (Action::Focus(Pane::Board), "focus_board"),
            (Action::Move(Scroll::LineDown), "move_line_down"),
            (Action::Choose(3), "choose_3"),
        ];
        for (action, expected) in cases {
            assert_eq!(action.word(), expected);
        }
        assert_eq!(Context::In(Pane::Board).word(), "board");
        assert_eq!(Context::CommentVerdict.word(), "comment_verdict");
        for a in TABLE {
            for b in TABLE {
                assert_eq!(a.action == b.action, a.action.word() == b.action.word());
                assert_eq!(a.context == b.context, a.context.word() == b.context.word());
            }
        }
    }

    #[test]
    fn changes_take_the_place_of_the_keys_before() {
        let map = KeyMap::changed(&changes(&[
            ("approve", &["Y"]),
            ("board.merge", &["g", "alt+m", "shift+m"]),
            ("board.move_top", &[]),
            ("next_pane", &["tab"]),
            ("palette", &["ctrl+k"]),
            ("panes.palette", &[":", "ctrl+x p"]),
        ]));
        // `move_top` counts in every pane and not in the board's own keys.
        assert!(matches!(map, Err(ChangeError::NotThere { .. })), "{map:?}");
        let map = KeyMap::changed(&changes(&[
            ("approve", &["Y"]),
            ("board.merge", &["t", "alt+m", "shift+g"]),
            ("panes.next_pane", &["ctrl+l"]),
            ("palette", &["ctrl+k"]),
            ("panes.palette", &[":", "ctrl+x p"]),
        ]))
        .unwrap();
        let needs = [Context::In(Pane::Needs), Context::Panes];
        let board = [Context::In(Pane::Board), Context::Panes];
        let everywhere = [Context::Everywhere];
        let verdict = [Context::CommentVerdict];
        let cases = [
            (&needs[..], "Y", Found::Action(Action::Approve)),
            (&verdict[..], "Y", Found::Action(Action::Approve)),
            (&needs[..], "a", Found::Nothing),
            (&board[..], "t", Found::Action(Action::Merge)),
            (&board[..], "G", Found::Action(Action::Merge)),
            (&board[..], "m", Found::Action(Action::Models)),
            (&board[..], "ctrl+l", Found::Action(Action::NextPane)),
            (&board[..], "tab", Found::Nothing),
            (&everywhere[..], "ctrl+k", Found::Action(Action::Palette)),
            (&everywhere[..], "ctrl+p", Found::Nothing),
            (&board[..], "ctrl+x", Found::Prefix),
            (&board[..], "ctrl+x p", Found::Action(Action::Palette)),
        ];
        for (contexts, key, expected) in cases {
            assert_eq!(map.lookup(contexts, key), expected, "{contexts:?} {key}");
        }
        assert_eq!(KeyMap::changed(&Changes::new()), Ok(KeyMap::default()));
    }

    #[test]
    fn what_does_not_fit_is_told_with_the_way_out() {
        type Wanted = &'static [(&'static str, &'static [&'static str])];
        let cases: [(Wanted, &str); 11] = [
            (
                &[("aprove", &["y"])],
                "no action `aprove`: did you mean `approve`?",
            ),
            (
                &[("board.merg", &["y"])],
                "no action `board.merg`: did you mean `merge`?",
            ),
            (
                &[("team.merge", &["y"])],
                "`merge` has no meaning in `team`: write \"board.merge\"",
            ),
            (&[("merge", &["hyper+m"])], "`merge`: \"hyper+m\" is no key"),
            (
                &[("merge", &["a b c"])],
                "`merge`: \"a b c\" is no key: write one, or two",
            ),
            (&[("merge", &[""])], "`merge`: \"\" is no key"),
            (
                &[("board.open", &["m"])],
                "`board.open`: `m` already means `board.merge` there (merge the branch of the completed task; asks first); \
                 unbind it with \"board.merge\" = [], or take another key",
            ),
            (
                &[("composer.send", &["ctrl+x"])],
                "`ctrl+x` already means `composer.edit_outside` there",
            ),
            (
                &[("nudge", &["z"]), ("ask_shutdown", &["z"])],
                "`z` already means",
            ),
            (
                &[("composer.send", &["s"])],
                "`composer.send`: `s` is text while writing",
            ),
            (
                &[("help", &["space"])],
                "`everywhere.help`: `space` is text while writing",
            ),
        ];
        for (given, expected) in cases {
            let error = KeyMap::changed(&changes(given)).unwrap_err().to_string();
            assert!(error.contains(expected), "{given:?}: {error}");
        }
        let freed = changes(&[("board.open", &["m"]), ("board.merge", &[])]);
        assert!(KeyMap::changed(&freed).is_ok());
    }
}
