//! The part of a failed check's output that its owner needs: the first failure with what surrounds it, and the end.

/// Maximum size of the failing part of an output, in bytes.
pub const EXCERPT_MAX: usize = 4000;
/// Number of lines before the first failure that are kept.
const BEFORE: usize = 3;
/// Maximum length of one line, in bytes. The rest of a longer line is cut.
const LINE_MAX: usize = 400;
/// Words that mark a line as a failure. They are compared in lower case.
const MARKS: &[&str] = &[
    "error",
    "fail",
    "panic",
    "assert",
    "exception",
    "traceback",
    "fatal",
    "not ok",
    "undefined",
    "✗",
    "✘",
];
/// Words of a line that contains a mark without being a failure.
const HARMLESS: &[&str] = &[
    "0 failed",
    "0 errors",
    "0 error(s)",
    "no errors",
    "0 failures",
];

/// Returns the part of `output` that shows why a command failed: the whole output if it has at most [`EXCERPT_MAX`]
/// bytes; otherwise the lines around the first failure and the last lines. Cuts are marked.
pub fn failing_part(output: &str) -> String {
    let output = output.trim_end();
    if output.trim().is_empty() {
        return "(no output)".into();
    }
    let lines: Vec<&str> = output.lines().map(short).collect();
    if lines.iter().map(|line| line.len() + 1).sum::<usize>() <= EXCERPT_MAX {
        return lines.join("\n");
    }
    // The markers need room too.
    let half = EXCERPT_MAX / 2 - 64;
    let first = lines.iter().position(|line| is_failure(line));
    let start = first.unwrap_or(0).saturating_sub(BEFORE);
    let mut end = start;
    let mut used = 0;
    while let Some(line) = lines.get(end).filter(|line| used + line.len() < half) {
        used += line.len() + 1;
        end += 1;
    }
    let mut tail = lines.len();
    used = 0;
    while tail > end && used + lines[tail - 1].len() < half {
        used += lines[tail - 1].len() + 1;
        tail -= 1;
    }
    let mut out = Vec::new();
    let marker = |count: usize| format!("[… {count} lines cut here …]");
    if start > 0 {
        out.push(marker(start));
    }
    out.extend(lines[start..end].iter().map(ToString::to_string));
    if tail > end {
        out.push(marker(tail - end));
    }
    out.extend(lines[tail..].iter().map(ToString::to_string));
    out.join("\n")
}

fn is_failure(line: &str) -> bool {
    let line = line.to_lowercase();
    MARKS.iter().any(|mark| line.contains(mark)) && !HARMLESS.iter().any(|mark| line.contains(mark))
}

/// Returns the first [`LINE_MAX`] bytes of a line, at a character boundary.
fn short(line: &str) -> &str {
    let mut end = line.len().min(LINE_MAX);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_returned_whole() {
        assert_eq!(failing_part("a\nb\n\n"), "a\nb");
        assert_eq!(failing_part("  \n"), "(no output)");
    }

    #[test]
    fn long_output_keeps_the_first_failure_and_the_end() {
        let mut text: Vec<String> = (0..2000).map(|n| format!("test case_{n} ... ok")).collect();
        text[700] = "test join ... FAILED".into();
        text.push("test result: 1 failure; 1999 passed".into());
        let part = failing_part(&text.join("\n"));
        assert!(part.len() <= EXCERPT_MAX, "{}", part.len());
        assert!(part.starts_with("[… 697 lines cut here …]"), "{part}");
        assert!(part.contains("test join ... FAILED") && part.contains("case_699 "));
        assert!(part.ends_with("test result: 1 failure; 1999 passed"));
        assert_eq!(part.matches("lines cut here").count(), 2);
    }

    #[test]
    fn output_is_bounded_whatever_it_contains() {
        for text in [
            "é".repeat(1_000_000),
            "error\n".repeat(100_000),
            "x\n".repeat(100_000),
            format!("{}\nerror: late", "0 errors so far\n".repeat(5000)),
        ] {
            let part = failing_part(&text);
            assert!(part.len() <= EXCERPT_MAX, "{}", part.len());
        }
        let late = failing_part(&format!(
            "{}\nerror: late",
            "0 errors so far\n".repeat(5000)
        ));
        assert!(late.ends_with("error: late"), "{late}");
    }
}
