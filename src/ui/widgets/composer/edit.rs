//! The editing actions of the composer: deletions whose text can be inserted again, undo and redo.

use super::kill::{KillSide, LastEdit, prev_word_start, word_end, word_start};
use super::undo::{EditKind, TextSnapshot};
use super::{COMPOSER_MAX, Composer, clean, new_area};
use crate::ui::keymap::Action;

impl Composer {
    /// Runs an action that deletes, inserts a deleted text, undoes or redoes. Other actions have no effect.
    pub fn act(&mut self, action: Action) {
        if !matches!(action, Action::Undo | Action::Redo) {
            self.leave_chip();
        }
        let (row, at) = self.cursor();
        let line = self.line(row);
        let end = line.chars().count();
        match action {
            Action::DeleteToStart if at > 0 => self.kill((row, 0), KillSide::Before),
            Action::DeleteWord if at > 0 => {
                let start = self.unit(row, word_start(line, at)).start;
                self.kill((row, start), KillSide::Before);
            }
            Action::DeletePrevWord if at > 0 => {
                let start = self.unit(row, prev_word_start(line, at)).start;
                self.kill((row, start), KillSide::Before);
            }
            Action::DeleteToStart | Action::DeleteWord | Action::DeletePrevWord if row > 0 => {
                let end = self.line(row - 1).chars().count();
                self.kill((row - 1, end), KillSide::Before);
            }
            Action::DeleteToEnd if at < end => self.kill((row, end), KillSide::After),
            Action::DeleteNextWord if at < end => {
                // If the word ends inside a cluster or chip, the whole cluster or chip is deleted.
                let last = word_end(line, at).saturating_sub(1);
                let to = self.unit(row, last).end.max(at + 1);
                self.kill((row, to), KillSide::After);
            }
            Action::DeleteToEnd | Action::DeleteNextWord if row + 1 < self.area.lines().len() => {
                self.kill((row + 1, 0), KillSide::After);
            }
            Action::Yank => self.yank(0, (row, at)),
            Action::YankPop => self.yank_older(),
            Action::Undo => {
                let now = self.snapshot();
                let before = self.undo.undo(now);
                self.restore(before);
            }
            Action::Redo => {
                let now = self.snapshot();
                let after = self.undo.redo(now);
                self.restore(after);
            }
            _ => {}
        }
    }

    /// Changes the text with `change` as one undo step. A typed character may join the previous step. If `change`
    /// leaves the text as it was, there is no new step, but the previous one ends.
    pub(super) fn edit(&mut self, kind: EditKind, change: impl FnOnce(&mut Composer)) {
        let before = (!self.undo.joins(kind)).then(|| self.snapshot());
        self.kills.last = LastEdit::Other;
        change(self);
        self.goal = None;
        self.recount();
        match before {
            Some(before) if before.text == self.draft() => self.undo.end_step(),
            before => self.undo.record(kind, before),
        }
    }

    /// Deletes the text between the cursor and `to` (line and character, from 0), and adds it to the ring of deleted
    /// texts. `side` is the side of the cursor on which `to` is. In the ring, the pasted text replaces the label of a
    /// chip, because the label has a meaning only in the current draft.
    fn kill(&mut self, to: (usize, usize), side: KillSide) {
        let (start, end) = match side {
            KillSide::Before => (to, self.cursor()),
            KillSide::After => (self.cursor(), to),
        };
        let text = self.between(start, end);
        let last = self.kills.last;
        self.edit(EditKind::Other, |composer| composer.delete(start, &text));
        self.kills.last = last;
        self.kills.add(&self.pastes.expand(&text), side);
    }

    fn delete(&mut self, start: (usize, usize), text: &str) {
        self.move_cursor_to(start.0, start.1);
        self.area.delete_str(text.chars().count());
    }

    /// Replaces the text from `start` (line and character, from 0) to the cursor by the deleted text `number`, counted
    /// from the newest (0), cut if the message would become too long. Does nothing if the ring of deleted texts is
    /// empty.
    fn yank(&mut self, number: usize, start: (usize, usize)) {
        let Some(text) = self.kills.get(number) else {
            return;
        };
        let replaced = self.between(start, self.cursor());
        let room = (COMPOSER_MAX + self.expand(&replaced).len()).saturating_sub(self.bytes);
        let (text, _) = clean(text, room);
        self.edit(EditKind::Other, |composer| {
            composer.delete(start, &replaced);
            let folded = composer.fold_again(&text);
            composer.area.insert_str(folded);
        });
        self.kills.last = LastEdit::Yank { number, start };
    }

    /// Replaces the deleted text that the last edit has inserted with the next older deleted text. Does nothing if the
    /// last edit did not insert a deleted text.
    fn yank_older(&mut self) {
        if let LastEdit::Yank { number, start } = self.kills.last {
            self.yank(number + 1, start);
        }
    }

    /// Returns the draft between two positions, each as line and character, both from 0; `end` is exclusive. `start`
    /// must not be after `end`.
    fn between(&self, start: (usize, usize), end: (usize, usize)) -> String {
        let lines: Vec<String> = (start.0..=end.0)
            .map(|row| {
                let from = if row == start.0 { start.1 } else { 0 };
                let to = if row == end.0 { end.1 } else { usize::MAX };
                let chars = self.line(row).chars().take(to);
                chars.skip(from).collect()
            })
            .collect();
        lines.join("\n")
    }

    fn snapshot(&self) -> TextSnapshot {
        TextSnapshot {
            text: self.draft(),
            cursor: self.cursor(),
        }
    }

    fn restore(&mut self, snapshot: Option<TextSnapshot>) {
        let Some(TextSnapshot { text, cursor }) = snapshot else {
            return;
        };
        self.area = new_area();
        self.area.insert_str(&text);
        self.move_cursor_to(cursor.0, cursor.1);
        self.kills.last = LastEdit::Other;
        self.recalled = None;
        self.goal = None;
        self.recount();
    }
}
