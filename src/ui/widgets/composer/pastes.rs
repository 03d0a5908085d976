//! Long pasted texts. The draft shows a chip such as `[pasted 200 lines]` in place of each one; the message contains
//! the whole text.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::ui::widgets::composer::undo::EditKind;
use crate::ui::widgets::composer::{COMPOSER_MAX, Composer, PasteResult};

/// Maximum number of lines of a pasted text that is shown as it is. A text with more lines is shown as a chip.
const LINES_MAX: usize = 5;
/// Maximum number of characters of a pasted text that is shown as it is. A text with more characters is shown as a
/// chip.
const CHARS_MAX: usize = 1000;
/// Number of bytes of `COMPOSER_MAX` that only typed text can use, so that the user can still write something beside a
/// long pasted text.
const TYPED_ROOM: usize = 8 * 1024;
/// Maximum number of chips in a draft. Once a draft has that many, further pasted text is shown as it is.
const CHIPS_MAX: usize = 64;
/// Maximum number of pasted texts that are remembered. When a sent message is recalled into the draft, a remembered
/// text in it is shown as a chip again.
const EARLIER_MAX: usize = 20;

#[derive(Debug, Default)]
pub struct Pastes {
    /// The chips of the draft with their texts. Includes chips that were deleted or unfolded, because undo can restore
    /// them.
    folded: Vec<(String, Arc<str>)>,
    /// The pasted texts of this draft and of earlier drafts, oldest first.
    earlier: VecDeque<Arc<str>>,
}

impl Pastes {
    /// Returns `draft` with the pasted text in place of each chip.
    pub fn expand<'a>(&self, draft: &'a str) -> Cow<'a, str> {
        if self.folded.is_empty() {
            return draft.into();
        }
        let mut chips: Vec<(usize, &str, &str)> = self
            .folded
            .iter()
            .filter_map(|(chip, text)| Some((draft.find(chip)?, chip.as_str(), &**text)))
            .collect();
        chips.sort_unstable();
        let mut out = String::new();
        let mut done = 0;
        for (at, chip, text) in chips {
            out.push_str(&draft[done..at]);
            out.push_str(text);
            done = at + chip.len();
        }
        out.push_str(&draft[done..]);
        out.into()
    }

    /// Removes the chips of a draft that was sent. Their texts are still remembered, so that a recalled message shows
    /// them as chips again.
    pub fn clear(&mut self) {
        self.folded.clear();
    }

    fn text_of(&self, chip: &str) -> Option<Arc<str>> {
        let mut folded = self.folded.iter();
        folded.find_map(|(known, text)| (known == chip).then(|| Arc::clone(text)))
    }

    /// Iterates over the chips of the draft that stand for `text`.
    fn chips_of<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a String> {
        let folded = self.folded.iter();
        folded.filter_map(move |(chip, known)| (**known == *text).then_some(chip))
    }

    /// Returns the character range of a chip in `line` for which `is_it` returns true; `None` if there is no such chip.
    /// If there are several, returns the range of the chip that was pasted first.
    fn range(&self, line: &str, is_it: impl Fn(&Range<usize>) -> bool) -> Option<Range<usize>> {
        self.folded.iter().find_map(|(chip, _)| {
            let at = line.find(chip)?;
            let start = line[..at].chars().count();
            let range = start..start + chip.chars().count();
            is_it(&range).then_some(range)
        })
    }

    /// Stores a pasted text and returns a chip for it, such as `[pasted 12 lines]`, which is unique in the draft.
    fn fold(&mut self, text: &str) -> String {
        let name = match text.lines().count() {
            0 | 1 => format!("{} characters", text.chars().count()),
            lines => format!("{lines} lines"),
        };
        let plain = format!("[pasted {name}]");
        let is_taken = self.folded.iter().any(|(chip, _)| *chip == plain);
        let chip = match self.folded.len() + 1 {
            number if is_taken => format!("[pasted {name} #{number}]"),
            _ => plain,
        };
        let text: Arc<str> = text.into();
        self.folded.push((chip.clone(), Arc::clone(&text)));
        // The text is stored without line breaks at its end. It is searched in sent messages, which have no line breaks
        // at their end.
        let text: Arc<str> = text.trim_end().into();
        self.earlier.retain(|one| *one != text);
        if !text.is_empty() {
            self.earlier.push_back(text);
        }
        if self.earlier.len() > EARLIER_MAX {
            self.earlier.pop_front();
        }
        chip
    }
}

fn is_long(text: &str) -> bool {
    text.len() > CHARS_MAX && text.chars().count() > CHARS_MAX
        || text.lines().nth(LINES_MAX).is_some()
}

impl Composer {
    /// Inserts pasted text like [`Composer::paste`], but as a chip if it is long, and leaves [`TYPED_ROOM`] bytes of
    /// the message for typed text.
    pub fn paste_folded(&mut self, text: &str) -> PasteResult {
        let (clean, result) = self.clean(text, COMPOSER_MAX - TYPED_ROOM);
        if is_long(&clean) && self.pastes.folded.len() < CHIPS_MAX {
            let chip = self.pastes.fold(&clean);
            self.insert(&chip);
        } else {
            self.insert(&clean);
        }
        result
    }

    /// Replaces the chip at the cursor by its text. If no chip is at the cursor, replaces the last chip of the draft.
    /// Returns `false` if the draft has no chip.
    pub fn unfold(&mut self) -> bool {
        let (row, at) = self.cursor();
        let here = self
            .pastes
            .range(self.line(row), |chip| (chip.start..=chip.end).contains(&at));
        let here = here.map(|range| (row, range));
        let Some((row, range)) = here.or_else(|| self.last_chip()) else {
            return false;
        };
        let line = self.line(row).chars();
        let chip: String = line.skip(range.start).take(range.len()).collect();
        let Some(text) = self.pastes.text_of(&chip) else {
            return false;
        };
        self.edit(EditKind::Other, |composer| {
            composer.move_cursor_to(row, range.start);
            composer.area.delete_str(range.len());
            composer.area.insert_str(&*text);
        });
        true
    }

    pub fn has_chip(&self) -> bool {
        self.last_chip().is_some()
    }

    /// Returns the byte ranges of the draft's chips in `row`, the text of a drawn row, in ascending order.
    pub fn chips_in(&self, row: &str) -> Vec<Range<usize>> {
        let folded = self.pastes.folded.iter();
        let ranges = folded.filter_map(|(chip, _)| Some((row.find(chip)?, chip.len())));
        let mut ranges: Vec<Range<usize>> = ranges.map(|(at, len)| at..at + len).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// Returns `text` with a chip in place of each text that was pasted into this draft or into an earlier one. Uses
    /// only chips that the draft does not contain yet.
    pub(super) fn fold_again(&mut self, text: &str) -> String {
        let draft = self.draft();
        let folded = self.pastes.folded.iter().map(|(_, text)| text);
        let mut earlier: Vec<Arc<str>> =
            folded.chain(&self.pastes.earlier).map(Arc::clone).collect();
        earlier.sort_by_key(|one| std::cmp::Reverse(one.len()));
        let mut text = text.to_string();
        for one in earlier {
            while self.pastes.folded.len() < CHIPS_MAX && text.contains(&*one) {
                let is_free = |chip: &&String| !text.contains(*chip) && !draft.contains(*chip);
                let known = self.pastes.chips_of(&one).find(is_free).cloned();
                let chip = known.unwrap_or_else(|| self.pastes.fold(&one));
                text = text.replacen(&*one, &chip, 1);
            }
        }
        text
    }

    /// Moves the texts of earlier pastes from `other` to this composer.
    pub(super) fn take_earlier(&mut self, other: &mut Composer) {
        self.pastes.earlier = std::mem::take(&mut other.pastes.earlier);
    }

    /// Returns the character range that the cursor passes and deletes as a unit: the chip or grapheme cluster that
    /// contains character `at` of line `row`.
    pub(super) fn unit(&self, row: usize, at: usize) -> Range<usize> {
        let line = self.line(row);
        let chip = self.pastes.range(line, |chip| chip.contains(&at));
        chip.unwrap_or_else(|| super::rows::cluster_range(line, at))
    }

    /// Moves the cursor to the end of the chip that it is in, so that typed text does not destroy the chip. Does
    /// nothing if the cursor is in no chip.
    pub(super) fn leave_chip(&mut self) {
        let (row, at) = self.cursor();
        let inside = |chip: &Range<usize>| chip.start < at && at < chip.end;
        if let Some(chip) = self.pastes.range(self.line(row), inside) {
            self.move_cursor_to(row, chip.end);
        }
    }

    fn last_chip(&self) -> Option<(usize, Range<usize>)> {
        if self.pastes.folded.is_empty() {
            return None;
        }
        let lines = self.area.lines().iter().enumerate().rev();
        lines
            .into_iter()
            .find_map(|(row, line)| Some((row, self.pastes.range(line, |_| true)?)))
    }
}
