//! Applies the user's `[keys]` settings to the keymap, and reports invalid ones.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::ui::keymap::action::FORMER_NAMES;
use crate::ui::keymap::{Action, Context, KeyBinding, KeyMap};
use crate::ui::keys;

/// The user's changes to the keymap: lists of keys by name. The name `approve` changes the keys of this action in all
/// contexts; `board.merge` changes those of the action `merge` in the context `board` only. A list replaces the default
/// keys; an empty list unbinds the action.
pub type KeyOverrides = BTreeMap<String, Vec<String>>;

/// Why a setting in `[keys]` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyOverrideError {
    /// The action does not exist.
    #[error("[keys] unknown action `{name}`: did you mean `{nearest}`?")]
    Unknown {
        /// The name as the user wrote it.
        name: String,
        nearest: String,
    },
    /// The action exists, but not in the context that the user wrote, or that context does not exist.
    #[error("[keys] `{context}` has no action `{action}`: use {known}")]
    NotThere {
        action: String,
        /// The context as the user wrote it.
        context: String,
        /// The names with which the action can be bound, each with its context, such as `board.merge`.
        known: String,
    },
    #[error("[keys] `{name}`: {why}")]
    BadKey {
        name: String,
        /// Why the key is invalid, with an example of a valid key.
        why: String,
    },
    /// In this context, a text input must insert the key as text.
    #[error(
        "[keys] `{name}`: `{key}` types text in this context: use a key with ctrl or alt, or a function key such as f5"
    )]
    IsText {
        /// The name of the binding, such as `board.merge`.
        name: String,
        key: String,
    },
    /// The key is bound to another action in the same context.
    #[error(
        "[keys] `{name}`: `{key}` already runs `{other}` in the same context ({words}); choose another key, or unbind the other action with \"{other}\" = []"
    )]
    Clash {
        /// The name of the binding, such as `board.merge`.
        name: String,
        key: String,
        /// The name of the binding that already has the key.
        other: String,
        words: &'static str,
    },
}

/// Converts a variant of an enum to its name in the settings: `Move(LineDown)` becomes `move_line_down`.
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
    /// Returns the action's name in the settings.
    pub fn word(self) -> String {
        match self {
            Action::Popup(name) => name.into(),
            other => word(&other),
        }
    }
}

impl Context {
    /// Returns the context's name in the settings; for [`Context::In`], the name of the pane.
    pub fn word(self) -> String {
        match self {
            Context::In(pane) => word(&pane),
            other => word(&other),
        }
    }

    /// Returns whether this context belongs to a text input. A text input inserts unbound keys as text.
    pub fn takes_text(self) -> bool {
        matches!(
            self,
            Context::Composer
                | Context::EmptyComposer
                | Context::Completion
                | Context::Editing
                | Context::History
                | Context::Filter
                | Context::Search
                | Context::Picker
                | Context::TaskForm
                | Context::Comment
        )
    }

    /// Returns whether keys that type text, such as `a`, must not be bound in this context, because they may be meant
    /// for a text input.
    fn is_writing(self) -> bool {
        let may_type = [Context::EmptyComposer, Context::Search, Context::TaskForm];
        self == Context::Everywhere || self.takes_text() && !may_type.contains(&self)
    }
}

impl KeyBinding {
    /// Returns the name of the binding in the settings, such as `board.merge`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.context.word(), self.action.word())
    }
}

impl KeyMap {
    /// Returns the default keymap with the user's changes. A change for one context overrides a change for all
    /// contexts.
    ///
    /// A change for all contexts skips keys that type text, such as `a`, in contexts in which the user may be typing.
    /// It skips them only if the action also exists in another kind of context, in which these keys are bound.
    ///
    /// # Errors
    /// Fails at the first change that names an unknown action, an action that the context does not have, or an invalid
    /// key. Also fails if a key types text in a context in which the user may be typing, or if another action has the
    /// key in the same context.
    pub fn with_overrides(changes: &KeyOverrides) -> Result<KeyMap, KeyOverrideError> {
        let mut map = KeyMap::default();
        let mut touched = vec![false; map.bound.len()];
        // A change for one context overrides a change for all contexts.
        let (narrow, wide): (Vec<_>, Vec<_>) = changes.iter().partition(|(n, _)| n.contains('.'));
        for (name, keys) in wide.into_iter().chain(narrow) {
            let keys = keys.iter().map(|key| canonical(name, key));
            let keys: Vec<String> = keys.collect::<Result<_, _>>()?;
            let mut given: Vec<Context> = Vec::new();
            let rows = matching_rows(&map, name)?;
            let works_elsewhere = rows.iter().any(|at| !map.bound[*at].context.is_writing());
            for at in rows {
                let line = &mut map.bound[at];
                // A key that types text is left out of contexts in which it must type text, if the action has another
                // context.
                let skips_text = works_elsewhere && line.context.is_writing();
                let mut here = keys.clone();
                here.retain(|key| !skips_text || !is_text(key));
                if here.is_empty() && !keys.is_empty() {
                    continue;
                }
                // If the table binds the action several times in a context, the first binding gets all keys.
                let is_first = !given.contains(&line.context);
                line.keys = if is_first { here } else { Vec::new() };
                given.push(line.context);
                touched[at] = true;
            }
        }
        check(&map, &touched)?;
        Ok(map)
    }
}

/// Returns the indexes in `map` of the bindings that the setting `name` changes. `name` is an action, such as `open`,
/// or a context and an action, such as `team.open`.
///
/// # Errors
/// Returns an error if no binding has the action, or if none has it in the context.
fn matching_rows(map: &KeyMap, name: &str) -> Result<Vec<usize>, KeyOverrideError> {
    let (context, action) = match name.split_once('.') {
        Some((context, action)) => (Some(context), action),
        None => (None, name),
    };
    let renamed = FORMER_NAMES.iter().find(|(former, _)| *former == action);
    let action = renamed.map_or(action, |(_, now)| now);
    let all = map.bound.iter().enumerate();
    let of_action: Vec<(usize, &KeyBinding)> =
        all.filter(|(_, b)| b.action.word() == action).collect();
    if of_action.is_empty() {
        return Err(KeyOverrideError::Unknown {
            name: name.into(),
            nearest: nearest(map, action),
        });
    }
    let is_there = |b: &KeyBinding| context.is_none_or(|c| b.context.word() == c);
    let found: Vec<usize> = of_action
        .iter()
        .filter(|(_, b)| is_there(b))
        .map(|(at, _)| *at)
        .collect();
    if found.is_empty() {
        let mut known: Vec<String> = of_action.iter().map(|(_, b)| b.name()).collect();
        known.dedup();
        let known: Vec<String> = known.iter().map(|k| format!("\"{k}\"")).collect();
        return Err(KeyOverrideError::NotThere {
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

/// Returns the normal form of `key`, which is one key or two keys separated by a space: `shift+g` becomes `G`, `ctrl+X`
/// becomes `ctrl+x`. `name` is the setting that the error names.
///
/// # Errors
/// Returns [`KeyOverrideError::BadKey`] if `key` is not one or two names of keys that terminals send.
fn canonical(name: &str, key: &str) -> Result<String, KeyOverrideError> {
    let bad = |why: String| KeyOverrideError::BadKey {
        name: name.into(),
        why,
    };
    let chords: Vec<&str> = key.split_whitespace().collect();
    if chords.is_empty() || chords.len() > 2 {
        let why = format!(
            "{key:?} is not a key: give one key, or two separated by a space, such as ctrl+x e"
        );
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
        keys::name_of(event).ok_or_else(|| {
            bad(format!(
                "terminals do not send {chord:?}: choose another key"
            ))
        })
    };
    let chords: Vec<String> = chords.iter().map(one).collect::<Result<_, _>>()?;
    Ok(chords.join(" "))
}

/// Returns whether a text input handles the key itself, to insert or delete text. Of a sequence of two keys, the first
/// one decides.
fn is_text(key: &str) -> bool {
    let first = key.split(' ').next().unwrap_or(key);
    first.chars().count() == 1 || matches!(first, "space" | "backspace" | "delete")
}

fn check(map: &KeyMap, touched: &[bool]) -> Result<(), KeyOverrideError> {
    for (at, line) in map.bound.iter().enumerate().filter(|(at, _)| touched[*at]) {
        for key in &line.keys {
            if line.context.is_writing() && is_text(key) {
                return Err(KeyOverrideError::IsText {
                    name: line.name(),
                    key: key.clone(),
                });
            }
            let others = map.bound.iter().enumerate();
            let here = others.filter(|(o, b)| *o != at && b.context == line.context);
            for (_, other) in here.filter(|(_, b)| b.action != line.action) {
                if other.keys.iter().any(|k| collide(k, key)) {
                    return Err(KeyOverrideError::Clash {
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

/// Returns whether the keys `a` and `b` conflict in one context: either they are equal, or one is a sequence of two
/// keys that begins with the other.
fn collide(a: &str, b: &str) -> bool {
    let begins = |long: &str, short: &str| long.split_once(' ').is_some_and(|(f, _)| f == short);
    a == b || begins(a, b) || begins(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::keymap::direction::Scroll;
    use crate::ui::keymap::pane::Pane;
    use crate::ui::keymap::{KeyLookup, TABLE};

    fn changes(pairs: &[(&str, &[&str])]) -> KeyOverrides {
        let own = |keys: &[&str]| keys.iter().map(|k| (*k).to_string()).collect();
        let pairs = pairs.iter().map(|(n, keys)| ((*n).to_string(), own(keys)));
        pairs.collect()
    }

    #[test]
    fn setting_names_are_snake_case_and_unique() {
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

    /// Users' settings contain the names of actions. If an action is renamed, `FORMER_NAMES` needs a row for the old
    /// name.
    #[test]
    fn setting_names_stay() {
        let mut names: Vec<String> = TABLE.iter().map(|row| row.action.word()).collect();
        names.sort();
        names.dedup();
        insta::assert_snapshot!(names.join("\n"));
    }

    #[test]
    fn former_names_still_work() {
        for (former, now) in FORMER_NAMES {
            let by_former = KeyMap::with_overrides(&changes(&[(former, &["f9"])])).unwrap();
            let by_name = KeyMap::with_overrides(&changes(&[(now, &["f9"])])).unwrap();
            assert_eq!(by_former.bound, by_name.bound, "{former}");
            assert!(
                TABLE.iter().all(|row| row.action.word() != *former),
                "{former}"
            );
        }
    }

    #[test]
    fn changes_replace_the_default_keys() {
        let map = KeyMap::with_overrides(&changes(&[
            ("approve", &["Y"]),
            ("board.merge", &["g", "alt+m", "shift+m"]),
            ("board.move_top", &[]),
            ("next_pane", &["tab"]),
            ("palette", &["ctrl+k"]),
            ("panes.palette", &[":", "ctrl+x p"]),
        ]));
        // `move_top` is bound in `panes`, not in ` board`.
        let is_refused = matches!(map, Err(KeyOverrideError::NotThere { .. }));
        assert!(is_refused, "{map:?}");
        let map = KeyMap::with_overrides(&changes(&[
            ("approve", &["Y"]),
            ("board.merge", &["V", "alt+m", "shift+g"]),
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
            (&needs[..], "Y", KeyLookup::Action(Action::Approve)),
            (&verdict[..], "Y", KeyLookup::Action(Action::Approve)),
            (&needs[..], "a", KeyLookup::Nothing),
            (&board[..], "V", KeyLookup::Action(Action::Merge)),
            (&board[..], "G", KeyLookup::Action(Action::Merge)),
            (&board[..], "m", KeyLookup::Nothing),
            (&board[..], "ctrl+l", KeyLookup::Action(Action::NextPane)),
            (&board[..], "tab", KeyLookup::Nothing),
            (
                &everywhere[..],
                "ctrl+k",
                KeyLookup::Action(Action::Palette),
            ),
            (&everywhere[..], "ctrl+p", KeyLookup::Nothing),
            (&board[..], "ctrl+x", KeyLookup::Prefix),
            (&board[..], "ctrl+x p", KeyLookup::Action(Action::Palette)),
        ];
        for (contexts, key, expected) in cases {
            assert_eq!(map.lookup(contexts, key), expected, "{contexts:?} {key}");
        }
        let unchanged = KeyMap::with_overrides(&KeyOverrides::new());
        assert_eq!(unchanged, Ok(KeyMap::default()));
        // A key that types text applies only where no text is typed.
        let map = KeyMap::with_overrides(&changes(&[("models", &["m"])])).unwrap();
        for (context, key) in [(Context::Panes, "m"), (Context::Composer, "alt+m")] {
            let found = map.lookup(&[context], key);
            assert_eq!(found, KeyLookup::Action(Action::Models));
        }
    }

    #[test]
    fn invalid_changes_are_reported_with_a_fix() {
        type Wanted = &'static [(&'static str, &'static [&'static str])];
        let cases: [(Wanted, &str); 11] = [
            (
                &[("aprove", &["y"])],
                "unknown action `aprove`: did you mean `approve`?",
            ),
            (
                &[("board.merg", &["y"])],
                "unknown action `board.merg`: did you mean `merge`?",
            ),
            (
                &[("team.merge", &["y"])],
                "`team` has no action `merge`: use \"board.merge\"",
            ),
            (
                &[("merge", &["hyper+m"])],
                "`merge`: \"hyper+m\" is not a key",
            ),
            (
                &[("merge", &["a b c"])],
                "`merge`: \"a b c\" is not a key: give one key, or two",
            ),
            (&[("merge", &[""])], "`merge`: \"\" is not a key"),
            (
                &[("board.open", &["m"])],
                "`board.open`: `m` already runs `board.merge` in the same context (merge the branch of the completed task; asks first); \
                 choose another key, or unbind the other action with \"board.merge\" = []",
            ),
            (
                &[("composer.send", &["ctrl+x"])],
                "`ctrl+x` already runs `composer.edit_in_editor` in the same context",
            ),
            (
                &[("nudge", &["z"]), ("ask_shutdown", &["z"])],
                "`z` already runs",
            ),
            (
                &[("composer.send", &["s"])],
                "`composer.send`: `s` types text in this context",
            ),
            (
                &[("suspend", &["space"])],
                "`everywhere.suspend`: `space` types text in this context",
            ),
        ];
        for (given, expected) in cases {
            let error = KeyMap::with_overrides(&changes(given))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{given:?}: {error}");
        }
        let freed = changes(&[("board.open", &["m"]), ("board.merge", &[])]);
        assert!(KeyMap::with_overrides(&freed).is_ok());
    }
}
