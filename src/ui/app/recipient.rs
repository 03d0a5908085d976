//! The recipient of the draft in the composer. No I/O.

use crate::domain::ids::Name;
use crate::ui::app::App;

/// Returns the agent that the draft in the composer names as its recipient with `@name`; `None` if it names none.
pub fn named_recipient(app: &App) -> Option<Name> {
    let draft = app.input.composer.draft();
    match split_recipient(app, draft.trim()) {
        Ok((to, _, true)) => Some(to),
        Ok(_) | Err(_) => None,
    }
}

/// Splits a message into its recipient, its text, and whether the message names the recipient. In `@name text`, the
/// recipient is the agent `name`. A message is for the agent whose conversation is open if it does not begin with `@`,
/// if the word after the `@` cannot be a name, or if that word is the path of a known file.
///
/// # Errors
/// Fails with a message for the user if no agent has the name.
pub fn split_recipient<'a>(app: &App, text: &'a str) -> Result<(Name, &'a str, bool), String> {
    let Some(rest) = text.strip_prefix('@') else {
        return Ok((app.shown.clone(), text, false));
    };
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, words) = rest.split_at(end);
    let name = name.trim_end_matches([',', ':']);
    let Ok(party) = Name::party(name) else {
        return Ok((app.shown.clone(), text, false));
    };
    if app.model.team.find(&party).is_none() && app.input.mentions.is_known(name) {
        return Ok((app.shown.clone(), text, false));
    }
    if party.same(&Name::lead()) {
        return Ok((Name::lead(), words.trim(), true));
    }
    match app.model.team.find(&party) {
        Some(member) => Ok((member.name.clone(), words.trim(), true)),
        None => Err(format!("{}.", app.model.team.unknown(name))),
    }
}
