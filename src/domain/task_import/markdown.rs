//! Reads check lists in Markdown. Each unchecked item becomes a task, and the indented text below it the description.

use std::collections::HashMap;

use super::super::text::clip;
use super::dependencies::DependencyReader;
use super::fence::CodeFence;
use super::item::{ImportError, ImportItem, ItemOrigin, ItemRef, content_key};

/// Maximum number of items in one text, checked ones included.
const CHECKED_AND_OPEN_MAX: usize = 10_000;
/// Maximum length of a heading or item that is quoted in the description of another item, in characters.
const QUOTED_MAX: usize = 200;
/// Width of a tab stop, in columns.
const TAB: usize = 4;

/// Reads the items of `text`. Other items name an item by the number at its start, as in `- [ ] #3 Write the parser`. If
/// no item has such a number, the items are counted from 1, checked ones included.
///
/// # Errors
/// Fails if there is no item, or if two items have the same number or the same text in the same section.
pub(super) fn parse(text: &str) -> Result<Vec<ImportItem>, ImportError> {
    let mut reader = ListReader::default();
    for (at, line) in text.lines().enumerate() {
        reader.read(at + 1, line);
        if reader.items.len() > CHECKED_AND_OPEN_MAX {
            return Err(format!(
                "line {}: the text has more than {CHECKED_AND_OPEN_MAX} items: split it into several files",
                at + 1
            )
            .into());
        }
    }
    reader.finish()
}

/// An item of a check list with the lines below it.
struct ListItem<'a> {
    /// The number of its line, counted from 1.
    line: usize,
    indent: usize,
    is_checked: bool,
    /// The number at the start of the item, as in `#3 Write the parser`.
    number: Option<u64>,
    subject: &'a str,
    /// The headings above the item, outermost first, joined with `/`.
    section: String,
    /// The item to whose text this one belongs, as an index; `None` at the first level.
    parent: Option<usize>,
    /// The lines below the item that belong to it and to no item below it.
    text: Vec<&'a str>,
}

#[derive(Default)]
struct ListReader<'a> {
    items: Vec<ListItem<'a>>,
    /// The items to which the next line can belong, outermost first, as indexes.
    open: Vec<usize>,
    /// The headings above the current line, with their levels.
    headings: Vec<(usize, String)>,
    fence: Option<CodeFence>,
    is_in_comment: bool,
}

impl<'a> ListReader<'a> {
    fn read(&mut self, number: usize, line: &'a str) {
        let text = line.trim();
        if self.is_in_comment {
            self.is_in_comment = !text.contains("-->");
            return;
        }
        if text.is_empty() {
            self.add_text("");
            return;
        }
        let indent = indent(line);
        while let Some(at) = self.open.last()
            && indent <= self.items[*at].indent
        {
            self.open.pop();
            // A code block ends with its item.
            self.fence = None;
        }
        if let Some(fence) = self.fence {
            if fence.is_closed_by(text) {
                self.fence = None;
            }
            self.add_text(line);
            return;
        }
        self.fence = CodeFence::open(text);
        if self.fence.is_some() {
            self.add_text(line);
        } else if let Some((is_checked, text)) = check_item(text) {
            self.add_item(number, indent, is_checked, text);
        } else if !self.open.is_empty() {
            self.add_text(line);
        } else if text.starts_with("<!--") {
            self.is_in_comment = !text.contains("-->");
        } else if let Some((level, title)) = heading(text) {
            self.headings.retain(|(above, _)| *above < level);
            self.headings.push((level, clip(title, QUOTED_MAX)));
        }
    }

    /// Adds a line to the text of the innermost open item. Does nothing outside of items.
    fn add_text(&mut self, line: &'a str) {
        if let Some(at) = self.open.last() {
            self.items[*at].text.push(line);
        }
    }

    fn add_item(&mut self, line: usize, indent: usize, is_checked: bool, text: &'a str) {
        let (number, subject) = match numbered(text) {
            Some((number, subject)) => (Some(number), subject),
            None => (None, text),
        };
        let titles = self.headings.iter().map(|(_, title)| title.as_str());
        let section = titles.collect::<Vec<_>>().join(" / ");
        let parent = self.open.last().copied();
        self.open.push(self.items.len());
        self.items.push(ListItem {
            line,
            indent,
            is_checked,
            number,
            subject,
            section,
            parent,
            text: Vec::new(),
        });
    }

    fn finish(self) -> Result<Vec<ImportItem>, ImportError> {
        let items = self.items;
        if items.is_empty() {
            return Err(String::from(
                "no check list was found: write each task as an item, such as - [ ] Write the parser",
            )
            .into());
        }
        let has_numbers = items.iter().any(|item| item.number.is_some());
        let mut problems = Vec::new();
        let mut by_number: HashMap<u64, usize> = HashMap::new();
        let mut by_key: HashMap<String, usize> = HashMap::new();
        let mut out = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let line = item.line;
            if let Some(number) = item.number
                && let Some(first) = by_number.insert(number, line)
            {
                problems.push(format!(
                    "line {line}: the item in line {first} already has the number #{number}: give it another one"
                ));
            }
            let (description, waits_for) = description(item, &items);
            let key = content_key(item.subject, &description, 0);
            if !item.is_checked
                && let Some(first) = by_key.insert(key.clone(), line)
            {
                problems.push(format!(
                    "line {line}: the item is the same as the one in line {first}: remove one of them"
                ));
            }
            let position = u64::try_from(at + 1).ok();
            out.push(ImportItem {
                origin: ItemOrigin::Line(line),
                number: if has_numbers { item.number } else { position },
                url: None,
                subject: item.subject.into(),
                description,
                tags: Vec::new(),
                waits_for,
                is_done: item.is_checked,
                key,
            });
        }
        ImportError::check(problems)?;
        Ok(out)
    }
}

/// Returns the description of an item and the items for which it waits. Lines that only state dependencies are left
/// out, because the numbers in them are not those on the board.
fn description(item: &ListItem<'_>, items: &[ListItem<'_>]) -> (String, Vec<ItemRef>) {
    let mut reader = DependencyReader::default();
    let (mut lines, mut waits_for) = (Vec::new(), Vec::new());
    for line in &item.text {
        match reader.read(line) {
            Some(stated) => {
                waits_for.extend(stated.waits_for);
                if !stated.is_whole_line {
                    lines.push(*line);
                }
            }
            None => lines.push(*line),
        }
    }
    let mut parts = Vec::new();
    if !item.section.is_empty() {
        parts.push(format!("Section: {}", item.section));
    }
    if let Some(parent) = item.parent.and_then(|at| items.get(at)) {
        parts.push(format!("Part of: {}", clip(parent.subject, QUOTED_MAX)));
    }
    let text = unindent(&lines);
    if !text.is_empty() {
        if !parts.is_empty() {
            parts.push(String::new());
        }
        parts.push(text);
    }
    (parts.join("\n"), waits_for)
}

/// Joins lines without their common indentation and without blank lines at the start and the end.
fn unindent(lines: &[&str]) -> String {
    let is_blank = |line: &&&str| line.trim().is_empty();
    let common = lines.iter().filter(|line| !is_blank(line));
    let common = common.map(|line| indent(line)).min().unwrap_or(0);
    let cut = |line: &&str| {
        let width = indent(line).saturating_sub(common);
        let text = line.trim_start_matches([' ', '\t']).trim_end();
        if text.is_empty() {
            String::new()
        } else {
            " ".repeat(width) + text
        }
    };
    let text = lines.iter().map(cut).collect::<Vec<_>>().join("\n");
    text.trim_matches('\n').into()
}

/// Returns the number of columns before the text of a line.
fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += TAB - columns % TAB,
            _ => break,
        }
    }
    columns
}

/// Parses a line such as `- [ ] text` or `1. [x] text`, without blanks around it. Returns whether the item is checked,
/// and its text.
fn check_item(line: &str) -> Option<(bool, &str)> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        1..=9 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let (is_checked, rest) = if let Some(rest) = rest.strip_prefix("[ ]") {
        (false, rest)
    } else {
        let rest = rest.strip_prefix("[x]").or(rest.strip_prefix("[X]"))?;
        (true, rest)
    };
    let is_item = rest.is_empty() || rest.starts_with([' ', '\t']);
    is_item.then(|| (is_checked, rest.trim()))
}

/// Splits `#3 text`, `#3: text` and the like into the number and the text. Returns `None` if the text does not begin with
/// a number.
fn numbered(text: &str) -> Option<(u64, &str)> {
    let rest = text.strip_prefix('#')?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = rest.split_at(end);
    let subject = rest.trim_start_matches([':', '.', ')', '-', '–']);
    let is_end = subject.starts_with([' ', '\t']);
    let number = digits.parse().ok()?;
    is_end.then(|| (number, subject.trim()))
}

/// Parses a heading such as `## Title`, without blanks around it. Returns its level and its title.
fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    let title = rest.trim().trim_end_matches('#').trim_end();
    (is_heading && !title.is_empty()).then_some((level, title))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Formats each open item as `line number subject|description|references`.
    fn items(text: &str) -> Vec<String> {
        let items = parse(text).unwrap();
        let open = items.iter().filter(|item| !item.is_done);
        open.map(|item| {
            let refs: Vec<String> = item.waits_for.iter().map(ToString::to_string).collect();
            let number = item.number.map(|n| n.to_string()).unwrap_or_default();
            format!(
                "{} {number} {}|{}|{}",
                item.origin,
                item.subject,
                item.description.replace('\n', "⏎"),
                refs.join(" ")
            )
        })
        .collect()
    }

    #[test]
    fn unchecked_items_become_tasks_with_the_text_below() {
        let text = "\
Text before.
- [ ] Write the parser
  It reads the format.

  ```
  - [ ] no item
  ```
    indented
- [x] Done
  text of the checked item
* [ ] Test it
  after #1
Text at the margin.
1. [X] Also done
2) [ ] With a number
- no check box
  - [ ] below a plain entry
";
        assert_eq!(
            items(text),
            [
                "line 2 1 Write the parser|It reads the format.⏎⏎```⏎- [ ] no item⏎```⏎  indented|",
                "line 11 3 Test it||#1",
                "line 15 5 With a number||",
                "line 17 6 below a plain entry||",
            ]
        );
    }

    #[test]
    fn headings_and_outer_items_are_named_in_the_description() {
        let text = "\
# Plan
- [ ] First
## Parser ##
- [ ] Outer
  Text.
\t- [ ] Inner
\t  More.
  Rest.
  # no heading
# Other
- [ ] Last
";
        assert_eq!(
            items(text),
            [
                "line 2 1 First|Section: Plan|",
                "line 4 2 Outer|Section: Plan / Parser⏎⏎Text.⏎Rest.⏎# no heading|",
                "line 6 3 Inner|Section: Plan / Parser⏎Part of: Outer⏎⏎More.|",
                "line 11 4 Last|Section: Other|",
            ]
        );
    }

    #[test]
    fn numbers_at_the_start_of_items_replace_the_count() {
        let text = "- [ ] #12 Write it\n- [ ] #7: Test it\n  Blocked by #12 (see there)\n- [ ] Rest\n- [ ] #x y\n";
        assert_eq!(
            items(text),
            [
                "line 1 12 Write it||",
                "line 2 7 Test it|Blocked by #12 (see there)|#12",
                "line 4  Rest||",
                "line 5  #x y||",
            ]
        );
    }

    #[test]
    fn items_in_code_blocks_and_comments_are_skipped() {
        let text = "~~~\n- [ ] a\n~~~\n<!--\n- [ ] b\n-->\n<!-- c -->\n- [ ] d\n  ```\n- [ ] e\n- [ ]\n- []\n- [ ]x\n";
        assert_eq!(
            items(text),
            ["line 8 1 d|```|", "line 10 2 e||", "line 11 3 ||"]
        );
    }

    #[test]
    fn problems_name_their_lines() {
        for (text, expected) in [
            ("Just text", "no check list was found"),
            (
                "- [ ] #1 a\n- [x] #1 b",
                "line 2: the item in line 1 already has the number #1",
            ),
            (
                "- [ ] a\n\n- [ ] a",
                "line 3: the item is the same as the one in line 1",
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        // The same item in another section, or checked, is another one.
        assert!(parse("# A\n- [ ] a\n# B\n- [ ] a\n- [x] a\n").is_ok());
        let many = "- [x] a\n".repeat(CHECKED_AND_OPEN_MAX + 1);
        let error = parse(&many).unwrap_err().to_string();
        assert!(error.contains("more than 10000 items"), "{error}");
    }
}
