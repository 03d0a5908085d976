//! The parts of a conversation that can be copied to the clipboard.

use crate::domain::text::{escape_control_chars, one_line};
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::{Transcript, markdown};

/// Maximum number of code blocks in the list of copyable parts. The newest are listed.
const BLOCKS_MAX: usize = 20;
/// Maximum number of answers that are searched for code blocks. The newest are searched.
const ANSWERS_MAX: usize = 50;
/// Maximum length of the entries of a conversation on the clipboard, in bytes, before control characters are escaped.
/// Of a longer conversation, only the newest entries are copied.
const WHOLE_MAX: usize = 1024 * 1024;

/// A part of a conversation that can be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Portion {
    /// The text of the cell with this number.
    Cell(u64),
    /// A code block of an answer: the number of the answer's cell, and the index of the block in the answer, counted
    /// from 0.
    Code(u64, usize),
    Whole,
}

impl Transcript {
    /// Returns the parts that can be copied, each with a label and the first line of its text. They are in this order:
    /// the selected cell, the last answer, the last prompt, the code blocks from the newest to the oldest, and the
    /// whole conversation.
    ///
    /// Parts that do not exist are left out. The last answer and the last prompt are also left out if they are the
    /// selected cell. The whole conversation has the number of its entries in place of a first line.
    pub fn copyable_portions(&self) -> Vec<(Portion, String, String)> {
        let mut out = Vec::new();
        let gist = |text: &str| one_line(text.trim_start().lines().next().unwrap_or_default());
        let selected = self.log.selected;
        if let Some((number, kind)) = selected.and_then(|n| Some((n, self.kind(n)?))) {
            let words = format!("selected: {}", kind.name());
            let text = self.text_at(number).unwrap_or_default();
            out.push((Portion::Cell(number), words, gist(&text)));
        }
        let answers: Vec<u64> = self.answers().take(ANSWERS_MAX).collect();
        for number in answers.iter().take(1).filter(|n| Some(**n) != selected) {
            if let Some(kind) = self.kind(*number) {
                let words = "last answer".into();
                out.push((Portion::Cell(*number), words, gist(&kind.text())));
            }
        }
        let last = self.log.prompts().next_back();
        if let Some((number, kind)) = last.and_then(|n| Some((n, self.kind(n)?)))
            && Some(number) != selected
        {
            out.push((
                Portion::Cell(number),
                "last prompt".into(),
                gist(&kind.text()),
            ));
        }
        let blocks = answers.iter().flat_map(|number| {
            let blocks = self.blocks(*number).into_iter().enumerate().rev();
            blocks.map(|(at, (name, code))| {
                let name = one_line(&name);
                let words = if name.is_empty() {
                    "code".to_string()
                } else {
                    format!("code: {name}")
                };
                (Portion::Code(*number, at), words, gist(&code))
            })
        });
        out.extend(blocks.take(BLOCKS_MAX));
        if self.log.len() > 0 {
            let count = format!("{} entries", self.log.entries_from(self.log.number(0)));
            out.push((Portion::Whole, "whole conversation".into(), count));
        }
        out
    }

    /// Returns the text of `portion`, with control characters escaped; `None` if the cell of the text was dropped from
    /// memory, or if its answer no longer has the code block.
    pub fn portion_text(&self, portion: &Portion) -> Option<String> {
        match portion {
            Portion::Cell(number) => self
                .text_at(*number)
                .map(|text| escape_control_chars(&text)),
            Portion::Code(number, at) => {
                let (_, code) = self.blocks(*number).into_iter().nth(*at)?;
                Some(escape_control_chars(&code))
            }
            Portion::Whole => Some(self.whole()),
        }
    }

    /// Returns the name of the selected cell, such as `the answer`, and its text; `None` if no cell is selected.
    pub fn selected_text(&self) -> Option<(&'static str, String)> {
        let number = self.log.selected?;
        let name = self.kind(number)?.name();
        Some((name, escape_control_chars(&self.text_at(number)?)))
    }

    /// Returns the text of the cell `number`; `None` if the cell was dropped from memory. For the header of a call
    /// group, returns the texts of the group's calls.
    fn text_at(&self, number: u64) -> Option<String> {
        let kind = self.kind(number)?;
        let CellKind::CallGroup(calls) = kind else {
            return Some(kind.text());
        };
        let all = number + 1..=number + calls.len as u64;
        let texts: Vec<String> = all.filter_map(|n| Some(self.kind(n)?.text())).collect();
        Some(texts.join("\n\n"))
    }

    pub(super) fn kind(&self, number: u64) -> Option<&CellKind> {
        self.log.index(number).map(|at| &self.log.cell(at).kind)
    }

    /// Iterates over the numbers of the cells with answers that contain text, newest first.
    fn answers(&self) -> impl Iterator<Item = u64> {
        let has_words = |at: &usize| match &self.log.cell(*at).kind {
            CellKind::Answer(answer) => !answer.text.is_blank(),
            _ => false,
        };
        let all = (0..self.log.len()).rev().filter(has_words);
        all.map(|at| self.log.number(at))
    }

    fn blocks(&self, number: u64) -> Vec<(String, String)> {
        match self.kind(number) {
            Some(CellKind::Answer(answer)) => markdown::code_blocks(answer.text.as_str()),
            _ => Vec::new(),
        }
    }

    /// Returns the text of all entries in memory, including folded parts. If the entries are longer than [`WHOLE_MAX`]
    /// bytes together, a note replaces the oldest ones. Entries that were dropped from memory are not mentioned.
    fn whole(&self) -> String {
        let mut parts = Vec::new();
        let mut room = WHOLE_MAX;
        let mut left_out = 0;
        for at in (0..self.log.len()).rev() {
            let kind = &self.log.cell(at).kind;
            if kind.is_blank() || matches!(kind, CellKind::CallGroup(_)) {
                continue;
            }
            let sign = match kind {
                CellKind::Prompt(..) => "> ".to_string(),
                // Thinking is copied in full, even if it is folded on the screen.
                CellKind::Answer(answer) if !answer.thinking.is_blank() => {
                    format!(
                        "∴ {}\n\n",
                        escape_control_chars(answer.thinking.as_str().trim())
                    )
                }
                _ => String::new(),
            };
            if left_out > 0 || kind.bytes() > room {
                left_out += 1;
                continue;
            }
            room -= kind.bytes();
            let words = format!("{sign}{}", escape_control_chars(kind.text().trim_end()));
            parts.push(words.trim_end().to_string());
        }
        if left_out > 0 {
            parts.push(format!("[… {left_out} older entries omitted …]"));
        }
        parts.reverse();
        parts.join("\n\n")
    }
}
