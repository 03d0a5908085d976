//! The letters that went to and fro: the newest of them, each with the step that it has reached.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::domain::mail::{Letter, LetterKind};
use crate::domain::team::{MemberStatus, Team};
use crate::domain::text::head_and_tail;
use crate::protocol::event::LetterStep;
use crate::ui::model::board::memo::Slot;
use crate::ui::model::sentence;
use crate::ui::text::terms::Words;

/// Most letters that are kept.
pub const LETTERS_MAX: usize = 500;

/// Longest text of a letter that is kept for the screen, in bytes.
pub const LETTER_SHOWN_MAX: usize = 16 * 1024;

/// A letter and how far it got.
#[derive(Debug, Clone, PartialEq)]
pub struct Traced {
    /// Counts up by one; what a selection holds on to.
    pub number: u64,
    /// The letter, its text bounded.
    pub letter: Letter,
    /// The step.
    pub step: LetterStep,
}

/// How far a message got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So far, and it may get further.
    At(LetterStep),
    /// Its recipient has left without reading it.
    Unread,
}

impl Traced {
    /// How far it got. A recipient that has left reads no more; one that was asked to shut down and did has done what the
    /// message said.
    pub fn progress(&self, team: &Team) -> Progress {
        let has_left = team.members.iter().any(|member| {
            let is_it = member.name.as_str().eq_ignore_ascii_case(&self.letter.to);
            is_it && member.status == MemberStatus::Shutdown
        });
        match self.step {
            LetterStep::Sent if has_left => Progress::Unread,
            LetterStep::Delivered
                if has_left && self.letter.kind == LetterKind::ShutdownRequest =>
            {
                Progress::At(LetterStep::ActedOn)
            }
            step => Progress::At(step),
        }
    }
}

impl Progress {
    /// The same as a word.
    pub fn word(self) -> &'static str {
        match self {
            Progress::Unread => "not read",
            Progress::At(LetterStep::Sent) => "sent",
            Progress::At(LetterStep::Delivered) => "delivered",
            Progress::At(LetterStep::ActedOn) => "acted on",
        }
    }
}

/// The newest letters, the oldest first.
#[derive(Debug, Default)]
pub struct LetterLog {
    letters: VecDeque<Traced>,
    next: u64,
    /// By the number of the next one and the words.
    fitting: Slot<(u64, String), Arc<Vec<u64>>>,
}

impl LetterLog {
    /// Takes a step of a letter in. A step that was passed already does not turn it back.
    pub fn moved(&mut self, letter: &Letter, step: LetterStep) {
        let mut all = self.letters.iter_mut().rev();
        if let Some(there) = all.find(|t| same(&t.letter, letter)) {
            if rank(step) > rank(there.step) {
                there.step = step;
            }
            return;
        }
        let mut letter = letter.clone();
        letter.content = head_and_tail(&letter.content, LETTER_SHOWN_MAX);
        self.letters.push_back(Traced {
            number: self.next,
            letter,
            step,
        });
        self.next += 1;
        if self.letters.len() > LETTERS_MAX {
            self.letters.pop_front();
        }
    }

    /// All that are kept, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Traced> {
        self.letters.iter()
    }

    /// The letters between the same two parties as `traced`, both ways, the oldest first; it is one of them.
    pub fn thread<'a>(&'a self, traced: &'a Traced) -> impl DoubleEndedIterator<Item = &'a Traced> {
        let (from, to) = (&traced.letter.from, &traced.letter.to);
        self.letters.iter().filter(move |t| {
            let other = (&t.letter.from, &t.letter.to);
            other == (from, to) || other == (to, from)
        })
    }

    /// The numbers of those that the words of a filter let through, the oldest first: words of the parties and the text,
    /// `from:NAME`, `to:NAME`.
    pub fn fitting(&self, words: &str) -> Arc<Vec<u64>> {
        self.fitting.get((self.next, words.to_string()), || {
            let words = Words::new(words);
            let fits = |traced: &&Traced| {
                let letter = &traced.letter;
                let (from, to) = (letter.from.to_lowercase(), letter.to.to_lowercase());
                let said = sentence::letter(letter).to_lowercase();
                let text = letter.content.to_lowercase();
                words.fit(&format!("{from} {to} {said} {text}"), |key| match key {
                    "from" => Some(from.as_str()),
                    "to" => Some(to.as_str()),
                    _ => None,
                })
            };
            Arc::new(self.letters.iter().filter(fits).map(|t| t.number).collect())
        })
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.letters.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// The letter of that number, if it is still kept.
    pub fn get(&self, number: u64) -> Option<&Traced> {
        self.place(number).and_then(|at| self.letters.get(at))
    }

    /// The same letter, if it is kept. One without an id is like no other.
    pub fn find(&self, letter: &Letter) -> Option<&Traced> {
        let mut all = self.letters.iter().rev();
        all.find(|t| same(&t.letter, letter))
    }

    /// Where the letter of that number stands, counted from the oldest.
    pub fn place(&self, number: u64) -> Option<usize> {
        let first = self.letters.front()?.number;
        let at = usize::try_from(number.checked_sub(first)?).ok()?;
        (at < self.letters.len()).then_some(at)
    }

    /// How many messages wait for a recipient of the team that has not left.
    pub fn unread(&self, team: &Team) -> usize {
        let waits = |t: &&Traced| t.progress(team) == Progress::At(LetterStep::Sent);
        self.letters.iter().filter(waits).count()
    }
}

/// Whether both are one letter; one to several has its id several times.
fn same(a: &Letter, b: &Letter) -> bool {
    !b.id.0.is_empty() && a.id == b.id && a.to == b.to
}

fn rank(step: LetterStep) -> u8 {
    match step {
        LetterStep::Sent => 0,
        LetterStep::Delivered => 1,
        LetterStep::ActedOn => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{LetterId, Name};
    use crate::domain::stamp::Stamp;

    fn letter(id: &str) -> Letter {
        Letter::new(
            LetterId(id.into()),
            LetterKind::Message,
            &Name::lead(),
            &Name::member("bob").unwrap(),
            "hello",
            Stamp(1.0),
        )
    }

    #[test]
    fn a_letter_moves_forward_only_and_is_kept_once() {
        let mut log = LetterLog::default();
        for step in [
            LetterStep::Sent,
            LetterStep::ActedOn,
            LetterStep::Delivered,
            LetterStep::Sent,
        ] {
            log.moved(&letter("a"), step);
        }
        let steps: Vec<LetterStep> = log.iter().map(|t| t.step).collect();
        assert_eq!(steps, [LetterStep::ActedOn]);
    }

    #[test]
    fn a_thread_is_what_two_wrote_to_one_another() {
        let mut log = LetterLog::default();
        let ways = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"), ("a", "b")];
        for (i, (from, to)) in ways.into_iter().enumerate() {
            let mut letter = letter(&i.to_string());
            (letter.from, letter.to) = (from.into(), to.into());
            log.moved(&letter, LetterStep::Sent);
        }
        let thread = |number| -> Vec<u64> {
            let traced = log.get(number).unwrap();
            log.thread(traced).map(|t| t.number).collect()
        };
        assert_eq!(thread(1), [0, 1, 4]);
        assert_eq!(thread(2), [2]);
    }

    #[test]
    fn only_the_newest_are_kept_and_numbers_stay() {
        let mut log = LetterLog::default();
        for i in 0..LETTERS_MAX + 10 {
            log.moved(&letter(&i.to_string()), LetterStep::Sent);
        }
        assert_eq!(log.len(), LETTERS_MAX);
        assert_eq!(log.get(9), None);
        assert_eq!(log.get(10).unwrap().letter.id.0, "10");
        assert_eq!(log.place(10), Some(0));
    }
}
