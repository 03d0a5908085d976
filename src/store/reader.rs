//! Taking letters: one reader of an inbox at a time, and what it took stands in one place only, also where it is killed.

use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::atomic::Lock;
use super::cursor::Cursor;
use super::post::{Passed, Pending, Post};
use super::transcript::{self, Transcript};
use super::{StoreError, plain};
use crate::domain::ids::Name;

/// Most bytes of a note that are read.
const NOTE_MAX: u64 = 4096;

/// The right to take letters of one inbox. The kernel takes it back when its holder ends, however it ends; writers
/// need not wait for it. Who keeps it from [`Reader::pending`] to [`Reader::acknowledge`] gets no letter that another
/// one gets.
#[derive(Debug)]
pub struct Reader {
    post: Post,
    name: Name,
    lock: Lock,
}

/// What a reader leaves in its lock file, for the next one.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// Its process.
    process: u32,
    /// The log that it is about to write what it took into, below `.transcripts`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    log: String,
    /// How far it has read then.
    #[serde(default)]
    upto: u64,
    /// What stands before that: [`Cursor::mark`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<u64>,
}

impl Reader {
    /// As [`Post::reader`].
    pub(super) fn of(post: &Post, name: &Name, within: Duration) -> Result<Reader, StoreError> {
        let path = post.reader_path(name);
        let Some(lock) = Lock::take_within(&path, within)? else {
            let process = plain::open(&path).map_or(0, |file| note(&file).process);
            let by = match process {
                0 => String::new(),
                process => format!(" (process {process})"),
            };
            let name = name.clone();
            return Err(StoreError::BeingRead { name, by });
        };
        let reader = Reader {
            post: post.clone(),
            name: name.clone(),
            lock,
        };
        reader.finish()?;
        // Where it can not be written, a full disk say, the lock alone keeps others away.
        let _ = reader.leave(String::new(), &Cursor::default());
        Ok(reader)
    }

    /// What a reader before wrote into its log and was killed before it acknowledged it: it is read.
    fn finish(&self) -> Result<(), StoreError> {
        let Note {
            log, upto, mark, ..
        } = note(self.lock.file());
        let is_read = !log.is_empty() && transcript::heard(&self.post.root, &log) == Some(upto);
        if is_read {
            self.acknowledge(&Cursor { offset: upto, mark })?;
        }
        Ok(())
    }

    /// Says that all up to `cursor` is about to be written into `log`: where this process is killed between that and
    /// [`Reader::acknowledge`], the next reader looks there, and does not take it again.
    ///
    /// # Errors
    /// When it can not be written down.
    pub fn announce(&self, log: &Transcript, cursor: &Cursor) -> Result<(), StoreError> {
        self.leave(log.file_name(), cursor)
    }

    /// Not synced: it is for who is killed, and the system keeps it then.
    fn leave(&self, log: String, cursor: &Cursor) -> Result<(), StoreError> {
        let text = serde_json::to_vec(&Note {
            process: std::process::id(),
            log,
            upto: cursor.offset,
            mark: cursor.mark,
        })?;
        let mut file = self.lock.file();
        let written = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(&text));
        written.map_err(StoreError::at(self.post.reader_path(&self.name)))
    }

    /// The letters that were not acknowledged yet. Takes nothing away; damaged lines are copied aside when they are
    /// passed over.
    ///
    /// # Errors
    /// When the inbox can not be read.
    pub fn pending(&self) -> Result<Pending, StoreError> {
        let (post, name) = (&self.post, &self.name);
        let known = post.cursor(name)?;
        if !known.fits_in(&post.path(name))? {
            // A foreign reader has cut it.
            post.set_cursor(name, Cursor::default())?;
        }
        let (mut pending, bad) = post.seen(name)?;
        if !bad.is_empty() {
            post.set_aside(name, &bad)?;
            pending.passed = Passed::Aside;
            if pending.letters.is_empty() {
                self.acknowledge(&pending.upto)?;
            }
        }
        Ok(pending)
    }

    /// Remembers that everything up to `cursor` is safe in its reader's conversation. What is remembered already, or
    /// was said of another inbox than there is now, a longer one or one that was cut since, changes nothing.
    ///
    /// # Errors
    /// When it can not be written down; then the same letters come again.
    pub fn acknowledge(&self, cursor: &Cursor) -> Result<(), StoreError> {
        let (post, name) = (&self.post, &self.name);
        let path = post.path(name);
        let known = post.cursor(name)?;
        // What is not marked can be told only by its number to be of the inbox before.
        let known_to = match cursor.mark {
            None => known.offset,
            Some(_) => post.read_to(name)?.offset,
        };
        if cursor.offset <= known_to || !cursor.fits_in(&path)? {
            return Ok(());
        }
        let marked = match cursor.mark {
            Some(_) => *cursor,
            None => {
                let at = || StoreError::at(&path);
                let mut file = plain::open(&path).map_err(at())?;
                Cursor::at(&mut file, cursor.offset).map_err(at())?
            }
        };
        post.set_cursor(name, marked)?;
        // The next reader need not look through that log. Where it stays, it finds what is known.
        let _ = self.leave(String::new(), &Cursor::default());
        Ok(())
    }
}

/// What the reader before has left; nothing where it can not be understood.
fn note(mut file: &std::fs::File) -> Note {
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(NOTE_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(_) => Note::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::{Block, Message};
    use crate::domain::conversation::Record;
    use crate::domain::ids::LetterId;
    use crate::domain::mail::{Letter, LetterKind, LetterStep};
    use crate::domain::stamp::Stamp;
    use pretty_assertions::assert_eq;

    const AT_ONCE: Duration = Duration::ZERO;

    fn post_with(letters: &[&str]) -> (tempfile::TempDir, Post, Name) {
        let dir = tempfile::tempdir().unwrap();
        crate::store::prepare(dir.path()).unwrap();
        let (post, bob) = (Post::open(dir.path()), Name::member("bob").unwrap());
        for text in letters {
            send(&post, text);
        }
        (dir, post, bob)
    }

    fn send(post: &Post, text: &str) {
        let bob = Name::member("bob").unwrap();
        let id = LetterId(text.into());
        let letter = Letter::new(
            id,
            LetterKind::Message,
            &Name::lead(),
            &bob,
            text,
            Stamp(1.0),
        );
        post.send(&letter).unwrap();
    }

    fn said(pending: &Pending) -> Vec<&str> {
        pending.letters.iter().map(|l| l.content.as_str()).collect()
    }

    #[test]
    fn while_one_reads_another_is_told_who_it_is_and_gets_nothing() {
        let (_dir, post, bob) = post_with(&["one"]);
        let reader = post.reader(&bob, AT_ONCE).unwrap();
        assert!(post.is_being_read(&bob));
        let error = post.reader(&bob, AT_ONCE).unwrap_err().to_string();
        let process = std::process::id();
        assert_eq!(
            error,
            format!(
                "the messages of bob are being read by another program (process {process}): they wait until it has ended"
            )
        );
        let pending = reader.pending().unwrap();
        assert_eq!(said(&pending), ["one"]);
        reader.acknowledge(&pending.upto).unwrap();
        drop(reader);
        assert!(!post.is_being_read(&bob));
        let reader = post.reader(&bob, AT_ONCE).unwrap();
        assert_eq!(said(&reader.pending().unwrap()), Vec::<&str>::new());
        // What was said of less does not bring it back.
        let (offset, mark) = (1, None);
        reader.acknowledge(&Cursor { offset, mark }).unwrap();
        assert_eq!(said(&reader.pending().unwrap()), Vec::<&str>::new());
    }

    #[test]
    fn what_a_killed_reader_had_in_its_log_is_not_read_again() {
        for is_logged in [false, true] {
            let (dir, post, bob) = post_with(&["one"]);
            let log = Transcript::open(dir.path(), "session", &bob);
            let reader = post.reader(&bob, AT_ONCE).unwrap();
            let upto = reader.pending().unwrap().upto;
            reader.announce(&log, &upto).unwrap();
            if is_logged {
                let record = Record::Told {
                    message: Message::user(vec![Block::text("one")]),
                    inbox: Some(upto.offset),
                    ended: Vec::new(),
                    prompts: Vec::new(),
                };
                log.append(&record).unwrap();
            }
            // Killed here.
            drop(reader);
            send(&post, "two");
            let reader = post.reader(&bob, AT_ONCE).unwrap();
            let pending = reader.pending().unwrap();
            let expected: &[&str] = if is_logged { &["two"] } else { &["one", "two"] };
            assert_eq!(said(&pending), expected);
        }
    }

    #[test]
    fn what_is_acknowledged_is_looked_up_in_no_log() {
        let (dir, post, bob) = post_with(&["one"]);
        let log = Transcript::open(dir.path(), "session", &bob);
        let reader = post.reader(&bob, AT_ONCE).unwrap();
        let upto = reader.pending().unwrap().upto;
        reader.announce(&log, &upto).unwrap();
        let left = || note(&std::fs::File::open(post.reader_path(&bob)).unwrap());
        let expected = |log: &str, upto: Cursor| Note {
            process: std::process::id(),
            log: log.into(),
            upto: upto.offset,
            mark: upto.mark,
        };
        assert_eq!(left(), expected(log.file_name().as_str(), upto));
        reader.acknowledge(&upto).unwrap();
        assert_eq!(left(), expected("", Cursor::default()));
    }

    #[test]
    fn an_inbox_that_was_cut_and_grew_again_loses_no_letter() {
        let (dir, post, bob) = post_with(&["one", "two", "three"]);
        let reader = post.reader(&bob, AT_ONCE).unwrap();
        let upto = reader.pending().unwrap().upto;
        reader.acknowledge(&upto).unwrap();
        assert!(!post.look(&bob).unwrap().is_due());
        // As the reference's readers do.
        std::fs::write(dir.path().join(".team/inbox/bob.jsonl"), "").unwrap();
        // Who only looks must see that, although no letter waits.
        assert!(post.look(&bob).unwrap().is_due());
        assert_eq!(said(&reader.pending().unwrap()), Vec::<&str>::new());
        assert!(!post.look(&bob).unwrap().is_due());
        for text in ["four", "five", "six", "seven"] {
            send(&post, text);
        }
        let pending = reader.pending().unwrap();
        assert_eq!(said(&pending), ["four", "five", "six", "seven"]);
    }

    #[test]
    fn an_inbox_that_was_cut_and_grew_unseen_loses_no_letter() {
        // The last ends where the old one had ended, and where it had not.
        for last in ["ten", "ten and more"] {
            let (dir, post, bob) = post_with(&["one", "two", "six"]);
            let reader = post.reader(&bob, AT_ONCE).unwrap();
            let upto = reader.pending().unwrap().upto;
            reader.acknowledge(&upto).unwrap();
            drop(reader);
            std::fs::write(dir.path().join(".team/inbox/bob.jsonl"), "").unwrap();
            let new = ["a", "seven", "eight", last];
            for text in new {
                send(&post, text);
            }
            let all = post.recent(9).unwrap().letters;
            assert!(all.iter().all(|(_, step)| *step == LetterStep::Sent));
            assert_eq!(post.waiting().unwrap()[0].letters, 4);
            assert_eq!(said(&post.look(&bob).unwrap()), new);
            let reader = post.reader(&bob, AT_ONCE).unwrap();
            // What the log of its reader says is of the inbox before.
            let offset = upto.offset;
            reader.acknowledge(&Cursor { offset, mark: None }).unwrap();
            let pending = reader.pending().unwrap();
            assert_eq!(said(&pending), new);
            reader.acknowledge(&pending.upto).unwrap();
            assert_eq!(said(&reader.pending().unwrap()), Vec::<&str>::new());
        }
    }

    #[test]
    fn an_inbox_that_is_cut_while_letters_are_taken_loses_none_of_the_new_ones() {
        let (dir, post, bob) = post_with(&["one"]);
        let reader = post.reader(&bob, AT_ONCE).unwrap();
        let upto = reader.pending().unwrap().upto;
        reader.acknowledge(&upto).unwrap();
        for text in ["two", "three"] {
            send(&post, text);
        }
        let upto = reader.pending().unwrap().upto;
        std::fs::write(dir.path().join(".team/inbox/bob.jsonl"), "").unwrap();
        for text in ["four", "five"] {
            send(&post, text);
        }
        reader.acknowledge(&upto).unwrap();
        assert_eq!(said(&reader.pending().unwrap()), ["four", "five"]);
    }
}
