//! The `crewdeck mail` subcommands: send, read and list messages.

use std::time::Duration;

use anyhow::{Result, bail};
use serde::Serialize;

use super::{CommandContext, CommandOutcome, parse_name};
use crate::cli::MailVerb;
use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::text::{count_noun, one_line};
use crate::domain::timestamp::Timestamp;
use crate::store::{InboxReader, Mailbox};

/// Maximum time to wait for another process that is reading the same inbox. Reading usually takes much less.
const READER_WAIT: Duration = Duration::from_secs(5);

pub fn run(verb: &MailVerb, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    let mailbox = &context.stores.mailbox;
    match verb {
        MailVerb::Send {
            to,
            text,
            from,
            kind,
        } => {
            if text.trim().is_empty() {
                bail!("the message was not sent, because its text is empty: write a text");
            }
            let to = recipient(to, context)?;
            let kind = parse_kind(kind)?;
            let id = MessageId((context.new_id)());
            let message = MailMessage::new(id, kind, &parse_name(from)?, &to, text, context.now);
            mailbox.send(&message)?;
            context.print(&message, || format!("sent to {to}"))?;
            Ok(CommandOutcome::Done)
        }
        MailVerb::List { name: None } => {
            let inboxes = inboxes(mailbox, context)?;
            context.print(&inboxes, || table(&inboxes))?;
            Ok(CommandOutcome::Done)
        }
        MailVerb::List { name: Some(name) } => {
            let name = recipient(name, context)?;
            let waiting = mailbox.peek(&name)?;
            CommandContext::warn(&waiting.notices());
            context.print(&waiting.messages, || message_lines(&waiting.messages))?;
            let more = count_more(mailbox, &name, waiting.messages.len())?;
            CommandContext::warn(&more_notice(more, "run crewdeck mail read", &name));
            Ok(CommandOutcome::Done)
        }
        MailVerb::Read { name } => {
            let name = recipient(name, context)?;
            let reader = mailbox.reader(&name, READER_WAIT)?;
            let taken = take_messages(&reader, context);
            // The process ends soon.
            reader.close();
            taken?;
            let more = count_more(mailbox, &name, 0)?;
            CommandContext::warn(&more_notice(more, "run again: crewdeck mail read", &name));
            Ok(CommandOutcome::Done)
        }
    }
}

/// Prints the unread messages and marks them as read.
fn take_messages(reader: &InboxReader, context: &CommandContext<'_>) -> Result<()> {
    let pending = reader.read_pending()?;
    CommandContext::warn(&pending.notices());
    context.print(&pending.messages, || message_lines(&pending.messages))?;
    // Acknowledges the messages only after they were printed, so that no message is lost (guarantee 1 in
    // docs/GUARANTEES.md).
    reader.acknowledge(&pending.upto)?;
    Ok(())
}

/// Returns the number of unread messages of `name` after the first `shown` ones.
fn count_more(mailbox: &Mailbox, name: &Name, shown: usize) -> Result<usize> {
    let unread = mailbox.count_unread()?;
    let count = unread
        .iter()
        .find(|u| u.name.same(name))
        .map_or(0, |u| u.count);
    Ok(count.saturating_sub(shown))
}

/// Returns the notice that `more` further messages were not printed; empty if `more` is 0. `how` says what to run to
/// print the next messages. The notice appends `name`, the owner of the inbox, to it.
fn more_notice(more: usize, how: &str, name: &Name) -> Vec<String> {
    let notice = || {
        let count = count_noun(more, "more unread message");
        format!("{count} not shown: for the next ones, {how} {name}")
    };
    (more > 0).then(notice).into_iter().collect()
}

/// One row of the list of inboxes, as printed.
#[derive(Debug, Serialize)]
struct InboxSummary {
    name: Name,
    /// Number of unread messages in the inbox.
    waiting: usize,
    /// When the oldest unread message was sent; 0 if there is none or the time is unknown.
    oldest: Timestamp,
}

/// Returns the inboxes of the lead, the user and all team members, including members that have shut down, in this
/// order. The inboxes of other names follow if they have unread messages.
fn inboxes(mailbox: &Mailbox, context: &CommandContext<'_>) -> Result<Vec<InboxSummary>> {
    let waiting = mailbox.count_unread()?;
    let team = context.stores.roster.read()?;
    let mut names = vec![Name::lead(), Name::user()];
    let members = team.members.iter().map(|m| &m.name);
    for name in members.chain(waiting.iter().map(|w| &w.name)) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let inbox = |name: Name| {
        let found = waiting.iter().find(|w| w.name == name);
        InboxSummary {
            waiting: found.map_or(0, |w| w.count),
            oldest: found.map(|w| w.oldest).unwrap_or_default(),
            name,
        }
    };
    Ok(names.into_iter().map(inbox).collect())
}

fn table(inboxes: &[InboxSummary]) -> String {
    let width = inboxes.iter().map(|i| i.name.as_str().len()).max();
    let width = width.unwrap_or_default().max("INBOX".len());
    let mut lines = vec![format!("{:width$}  WAITING", "INBOX")];
    let line = |i: &InboxSummary| format!("{:width$}  {:>7}", i.name.as_str(), i.waiting);
    lines.extend(inboxes.iter().map(line));
    lines.push("Show the messages of an inbox: crewdeck mail list NAME".into());
    lines.join("\n")
}

/// Parses the name of the owner of an inbox: the lead, the user, or a current or former team member. Returns a member's
/// name as the roster spells it. Fails for any other name, because no agent would read the message.
fn recipient(text: &str, context: &CommandContext<'_>) -> Result<Name> {
    let name = parse_name(text)?;
    if name.is_lead() || name.is_user() {
        return Ok(name);
    }
    let team = context.stores.roster.read()?;
    match team.find(&name) {
        Some(member) => Ok(member.name.clone()),
        None => Err(team.unknown(text).into()),
    }
}

/// Parses the type of a message. Rejects an unknown type, because it is probably a typing error.
fn parse_kind(kind: &str) -> Result<MailKind> {
    if !MailKind::KNOWN.contains(&kind) {
        bail!(
            "there is no message type '{kind}': use {}",
            MailKind::KNOWN.join(", ")
        );
    }
    Ok(serde_json::from_value(kind.into())?)
}

fn message_lines(messages: &[MailMessage]) -> String {
    if messages.is_empty() {
        return "No messages.".into();
    }
    // The further lines of a text are indented, so that none looks like another message.
    let text = |message: &MailMessage| {
        let head = format!("{} → {} ({})", message.from, message.to, message.kind);
        let content = message.content.replace('\n', "\n    ");
        format!("{}: {content}", one_line(&head))
    };
    messages.iter().map(text).collect::<Vec<_>>().join("\n")
}
