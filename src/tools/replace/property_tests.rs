//! Property tests: what is true for every file and every edit.

use proptest::prelude::*;

use super::*;

/// Generates lines from few different words, so that many lines are equal or similar.
fn any_file() -> impl Strategy<Value = String> {
    let line = (
        prop::sample::select(vec!["", "  ", "    ", "\t", "\t\t", "        "]),
        prop::sample::select(vec![
            "",
            "a = 1",
            "b = 2;",
            "if x {",
            "}",
            "call(\"a\\n\")",
            "call('b')",
            "# note",
            "...",
        ]),
        prop::sample::select(vec!["", " ", "\t"]),
        prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]),
    )
        .prop_map(|(indent, words, blanks, end)| format!("{indent}{words}{blanks}{end}"));
    (prop::collection::vec(line, 0..14), any::<bool>()).prop_map(|(lines, is_ended)| {
        let text = lines.concat();
        if is_ended {
            text
        } else {
            text.trim_end_matches(['\n', '\r']).to_string()
        }
    })
}

/// Generates a file, a block of its lines as a model may quote it (exactly or with a common mistake), and the new text
/// for the block.
fn any_edit() -> impl Strategy<Value = (String, String, String)> {
    (
        any_file(),
        any::<prop::sample::Index>(),
        1..5usize,
        0..8u8,
        any_file(),
    )
        .prop_map(|(file, at, count, how, new)| {
            let lines: Vec<&str> = file.split_inclusive('\n').collect();
            let from = at.index(lines.len().max(1)).min(lines.len());
            let old = lines[from..(from + count).min(lines.len())].concat();
            let old = match how {
                0 => old,
                1 => old.lines().map(str::trim).collect::<Vec<_>>().join("\n"),
                2 => old
                    .lines()
                    .map(str::trim_end)
                    .collect::<Vec<_>>()
                    .join("\n"),
                3 => old.replace('\t', "    "),
                4 => old.replace('\n', "\\n"),
                5 => format!("```\n{old}```"),
                6 => format!("\n{}", old.replace('"', "'")),
                _ => old.replace('a', "b"),
            };
            (file, old, new)
        })
}

fn edit<'a>(old: &'a str, new: &'a str, places: Occurrences) -> Edit<'a> {
    Edit {
        old,
        new,
        occurrences: places,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// If the exact text occurs once, only this occurrence is replaced, by exactly the new text.
    #[test]
    fn exact_match_is_replaced_literally((file, old, new) in any_edit()) {
        // Line ends are left out here; the table of cases tests them.
        let [file, old, new] = [file, old, new].map(|text| text.replace('\r', ""));
        if old.is_empty() || old == new {
            return Ok(());
        }
        let count = file.matches(&old).count();
        for places in [Occurrences::One, Occurrences::All] {
            let done = replace(&file, &edit(&old, &new, places));
            if count == 1 || (count > 1 && places == Occurrences::All) {
                let done = done.unwrap();
                prop_assert_eq!(done.text, file.replace(&old, &new));
                prop_assert_eq!(done.count, count);
                prop_assert!(done.ignored.is_empty());
            } else if count > 1 {
                prop_assert!(done.is_err());
            }
        }
    }

    /// An inexact match replaces consecutive lines, about as many as `old` has. Every byte before and after these lines
    /// is unchanged.
    #[test]
    fn inexact_match_changes_nothing_outside_the_block((file, old, new) in any_edit()) {
        let Ok(done) = replace(&file, &edit(&old, &new, Occurrences::One)) else { return Ok(()) };
        if done.ignored.is_empty() {
            return Ok(());
        }
        let same = |a: &mut dyn Iterator<Item = (u8, u8)>| a.take_while(|(a, b)| a == b).count();
        let (a, b) = (file.as_bytes(), done.text.as_bytes());
        let front = same(&mut a.iter().copied().zip(b.iter().copied()));
        let back = same(&mut a.iter().rev().copied().zip(b.iter().rev().copied()));
        let touched = file.get(front..a.len().saturating_sub(back).max(front)).unwrap_or_default();
        let blank = file.lines().filter(|l| l.trim().is_empty()).count();
        let lines = old.replace("\\n", "\n").lines().count();
        // The block in the file may have extra blank lines; an ellipsis stands for any number of lines.
        if !done.ignored.iter().any(|what| what.contains("omitted")) {
            let count = touched.lines().count();
            prop_assert!(count <= lines + blank, "{count} lines for {lines}: {touched:?}");
        }
    }

    /// The result contains the new lines, possibly with other indentation.
    #[test]
    fn replacement_appears_in_the_result((file, old, _) in any_edit(), words in "[a-z]{6,12}") {
        if old.trim().is_empty() {
            return Ok(());
        }
        let new = format!("{words} one\n{words} two");
        let Ok(done) = replace(&file, &edit(&old, &new, Occurrences::One)) else { return Ok(()) };
        let read: Vec<&str> = done.text.lines().map(str::trim).collect();
        let has = |line: &str| read.iter().filter(|l| l.contains(line)).count();
        prop_assert_eq!(has(&format!("{words} one")), 1, "{}", done.text);
        prop_assert_eq!(has(&format!("{words} two")), 1, "{}", done.text);
        // A file with only one kind of line end gets no other kind.
        if !file.contains('\r') { prop_assert!(!done.text.contains('\r')); }
        let lone = |text: &str| text.matches('\n').count() > text.matches("\r\n").count();
        if file.contains('\n') && !lone(&file) && !old.contains('\r') {
            prop_assert!(!lone(&done.text), "{:?}", done.text);
        }
    }

    /// If an edit is refused, the explanation is shorter than 4000 bytes.
    #[test]
    fn arbitrary_input_never_panics(file in ".{0,200}", old in ".{0,60}", new in ".{0,60}") {
        for places in [Occurrences::One, Occurrences::All] {
            if let Err(refusal) = replace(&file, &edit(&old, &new, places)) {
                prop_assert!(refusal.why.len() + refusal.help.len() < 4000);
            }
        }
    }
}
