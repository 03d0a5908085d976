//! `crewdeck mail …`

use std::time::Duration;

use anyhow::{Result, bail};
use serde::Serialize;

use super::{Desk, Ended, party};
use crate::cli::MailVerb;
use crate::domain::ids::{LetterId, Name};
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::stamp::Stamp;
use crate::store::{Post, Roster};

/// How long another reader is waited for: many times as long as one needs that is not stopped.
const READER_WAIT: Duration = Duration::from_secs(5);

/// Carries the verb out.
pub fn run(verb: &MailVerb, desk: &Desk<'_>) -> Result<Ended> {
    let post = Post::open(desk.root);
    match verb {
        MailVerb::Send {
            to,
            text,
            from,
            kind,
        } => {
            if text.trim().is_empty() {
                bail!("an empty message was not sent: write a text");
            }
            let to = recipient(to, desk)?;
            let kind = known(kind)?;
            let id = LetterId((desk.new_id)());
            let letter = Letter::new(id, kind, &party(from)?, &to, text, desk.now);
            post.send(&letter)?;
            desk.print(&letter, || format!("sent to {to}"))?;
            Ok(Ended::Done)
        }
        MailVerb::List { name: None } => {
            let inboxes = inboxes(&post, desk)?;
            desk.print(&inboxes, || table(&inboxes))?;
            Ok(Ended::Done)
        }
        MailVerb::List { name: Some(name) } => {
            let waiting = post.look(&recipient(name, desk)?)?;
            Desk::warn(&waiting.notices());
            desk.print(&waiting.letters, || lines(&waiting.letters))?;
            Ok(Ended::Done)
        }
        MailVerb::Read { name } => {
            let name = recipient(name, desk)?;
            let reader = post.reader(&name, READER_WAIT)?;
            let pending = reader.pending()?;
            Desk::warn(&pending.notices());
            desk.print(&pending.letters, || lines(&pending.letters))?;
            // Printed first: a letter that was not seen is not acknowledged (promise 1).
            reader.acknowledge(&pending.upto)?;
            Ok(Ended::Done)
        }
    }
}

/// An inbox, as a list of all of them shows it.
#[derive(Debug, Serialize)]
struct Inbox {
    /// Whose it is.
    name: Name,
    /// How many messages wait in it.
    waiting: usize,
    /// When the oldest of them was sent; zero: none waits, or unknown.
    oldest: Stamp,
}

/// The inboxes of the lead, the user, all members, and whoever else has messages.
fn inboxes(post: &Post, desk: &Desk<'_>) -> Result<Vec<Inbox>> {
    let waiting = post.waiting()?;
    let team = Roster::open(desk.root).read()?;
    let mut names = vec![Name::lead(), Name::user()];
    let members = team.members.iter().map(|m| &m.name);
    for name in members.chain(waiting.iter().map(|w| &w.name)) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let inbox = |name: Name| {
        let found = waiting.iter().find(|w| w.name == name);
        Inbox {
            waiting: found.map_or(0, |w| w.letters),
            oldest: found.map(|w| w.oldest).unwrap_or_default(),
            name,
        }
    };
    Ok(names.into_iter().map(inbox).collect())
}

/// A line an inbox, its columns aligned.
fn table(inboxes: &[Inbox]) -> String {
    let width = inboxes.iter().map(|i| i.name.as_str().len()).max();
    let width = width.unwrap_or_default().max("INBOX".len());
    let mut lines = vec![format!("{:width$}  WAITING", "INBOX")];
    let line = |i: &Inbox| format!("{:width$}  {:>7}", i.name.as_str(), i.waiting);
    lines.extend(inboxes.iter().map(line));
    lines.push("crewdeck mail list NAME shows the messages of one.".into());
    lines.join("\n")
}

/// A party that has an inbox: the lead, the person, or a member of the roster, also one that is gone.
fn recipient(text: &str, desk: &Desk<'_>) -> Result<Name> {
    let name = party(text)?;
    if name.is_lead() || name.is_user() {
        return Ok(name);
    }
    let team = Roster::open(desk.root).read()?;
    match team.find(&name) {
        Some(member) => Ok(member.name.clone()),
        None => Err(team.unknown(text).into()),
    }
}

/// A type of letter that readers know: a slip of the pen would make one that nobody acts on.
fn known(kind: &str) -> Result<LetterKind> {
    if !LetterKind::KNOWN.contains(&kind) {
        bail!(
            "there is no message type '{kind}': use {}",
            LetterKind::KNOWN.join(", ")
        );
    }
    Ok(serde_json::from_value(kind.into())?)
}

fn lines(letters: &[Letter]) -> String {
    if letters.is_empty() {
        return "No messages.".into();
    }
    let line = |l: &Letter| format!("{} → {} ({}): {}", l.from, l.to, l.kind, l.content);
    letters.iter().map(line).collect::<Vec<_>>().join("\n")
}
