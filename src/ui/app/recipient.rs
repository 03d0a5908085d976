//! The recipient of the draft in the composer. No I/O.

use crate::domain::host::HostPresence;
use crate::domain::ids::Name;
use crate::ui::app::App;
use crate::ui::app::role::SessionRole;
use crate::ui::model::team_book::KnownHost;

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

/// Returns why the agent `to` does not read a message now, and until when the message waits; `None` if the agent reads it
/// before its next step.
pub fn waiting_reason(app: &App, to: &Name) -> Option<String> {
    if app.role == SessionRole::NoCrew {
        return Some("No crew runs now, so the message waits until one starts.".into());
    }
    let runs_with_lead = to.is_lead() || host_of(app, to).is_empty();
    if runs_with_lead && matches!(app.role, SessionRole::HubViewer { host: None, .. }) {
        return Some("No lead runs now, so the message waits until one starts.".into());
    }
    let host = absent_host(app, to)?;
    let (name, is_lost) = (host.name(), host.is_lost());
    let state = if is_lost { "is lost" } else { "has left" };
    Some(format!(
        "Its host {name} {state}, so the message waits until {name} is back."
    ))
}

/// Returns why the agent `to`, which has shut down, takes no messages, and what to do.
pub fn gone_text(app: &App, to: &Name) -> String {
    match absent_host(app, to) {
        Some(host) if host.is_lost() => format!(
            "{to} has stopped, because its host {name} is lost. It continues when {name} is back.",
            name = host.name()
        ),
        Some(host) => format!(
            "{to} has shut down, because its host {name} has left. Start crewdeck worker on {name} again.",
            name = host.name()
        ),
        None => format!("{to} has shut down. Ask the lead to spawn it again."),
    }
}

/// Returns the name of the host of a teammate; empty for that of the lead, and for unknown agents.
fn host_of<'a>(app: &'a App, agent: &Name) -> &'a str {
    let member = app.model.team.find(agent);
    member.map_or("", |member| member.host.as_str())
}

/// Returns the host of a teammate if it is lost or has left.
fn absent_host<'a>(app: &'a App, agent: &Name) -> Option<&'a KnownHost> {
    let host = app.model.team.known(host_of(app, agent))?;
    (host.state.presence != HostPresence::Present).then_some(host)
}
