//! Removes from the texts of a model what does not belong to the file: code fences, line numbers and escapes. Also
//! splits them at lines such as `...`.

/// Maximum number of omission lines (such as `...`) at which a text is split. Further omission lines are treated as
/// text of the file.
const OMISSIONS_MAX: usize = 20;

/// The entry of [`Variant::ignored`] if escapes were removed.
const ESCAPES: &str = "escapes";

/// The old and the new text of an edit: as the model sent them, or after cleaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    pub old: String,
    pub new: String,
    /// What was removed from `old` and `new`, such as `line numbers`. If the edit succeeds, the tool result lists it.
    pub ignored: Vec<&'static str>,
    /// Whether `old` can match only whole lines of the file. True if a code fence or line numbers were removed.
    pub has_whole_lines: bool,
}

/// Returns the texts as the model sent them, followed by cleaned variants. There are three cleaning steps: code fences,
/// line numbers, escapes. Each step cleans the result of the previous one. A step that removes nothing adds no variant.
/// A variant whose old text is empty or equal to its new text is left out.
pub fn variants(old: &str, new: &str) -> Vec<Variant> {
    let mut all = vec![Variant {
        old: old.into(),
        new: new.into(),
        ignored: Vec::new(),
        has_whole_lines: false,
    }];
    let mut base = 0;
    for (clean, label) in [
        (
            fences as fn(&str, &str) -> Vec<(String, String)>,
            "a code fence",
        ),
        (line_numbers, "line numbers"),
        (escapes, ESCAPES),
    ] {
        let from = all[base].clone();
        let cleaned = clean(&from.old, &from.new);
        if !cleaned.is_empty() {
            base = all.len();
        }
        for (old, new) in cleaned {
            if old.is_empty() || old == new {
                continue;
            }
            let mut ignored = from.ignored.clone();
            ignored.push(label);
            all.push(Variant {
                old,
                new,
                ignored,
                has_whole_lines: from.has_whole_lines || label != ESCAPES,
            });
        }
        base = base.min(all.len() - 1);
    }
    all
}

fn fences(old: &str, new: &str) -> Vec<(String, String)> {
    let Some(inner) = strip_fence(old) else {
        return Vec::new();
    };
    let new = strip_fence(new).unwrap_or_else(|| new.into());
    vec![(inner, new)]
}

/// Returns the text between the first and the last line of `text` if these lines are code fences. Ignores whitespace
/// around `text`. Otherwise returns `None`.
fn strip_fence(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let (info, body) = inner.split_once('\n')?;
    (!info.trim().contains(' ') && (body.ends_with('\n') || body.is_empty()))
        .then(|| body.to_string())
}

fn line_numbers(old: &str, new: &str) -> Vec<(String, String)> {
    let Some(sign) = old
        .lines()
        .find_map(|l| split_number(l).map(|(_, sign, _)| sign))
    else {
        return Vec::new();
    };
    let mut last = None;
    let mut out = Vec::new();
    for line in old.lines() {
        match split_number(line) {
            Some((number, s, rest))
                if s == sign && last.is_none_or(|last: u64| number == last + 1) =>
            {
                last = Some(number);
                out.push(rest);
            }
            None if line.trim().is_empty() => {
                last = last.map(|last| last + 1);
                out.push("");
            }
            Some(_) | None => return Vec::new(),
        }
    }
    // If every line has a space after the separator, this space belongs to the line numbers and not to the file.
    let is_padded = |line: &&str| line.is_empty() || line.starts_with(' ');
    let padding = usize::from(sign != '\t' && out.iter().all(is_padded));
    let plain = |rest: &str| rest.get(padding..).unwrap_or_default().to_string();
    let new: Vec<String> = new
        .lines()
        .map(|line| match split_number(line) {
            Some((_, s, rest)) if s == sign => plain(rest),
            Some(_) | None => line.to_string(),
        })
        .collect();
    let old: Vec<String> = out.into_iter().map(plain).collect();
    vec![(old.join("\n"), new.join("\n"))]
}

/// Splits a line such as `12: text` into the number, the separator and the text after the separator. The separator is
/// `:`, `|`, `→`, `│` or a tab. Ignores whitespace and an `L` before the number, and spaces after it. Returns `None` if
/// the line does not begin with a number of at most 7 digits and a separator.
fn split_number(line: &str) -> Option<(u64, char, &str)> {
    let line = line.trim_start();
    let line = line.strip_prefix('L').unwrap_or(line);
    let digits = line.find(|c: char| !c.is_ascii_digit())?;
    if digits == 0 || digits > 7 {
        return None;
    }
    let number = line[..digits].parse().ok()?;
    let rest = &line[digits..];
    let trimmed = rest.trim_start_matches(' ');
    let sign = trimmed
        .chars()
        .next()
        .filter(|c| [':', '|', '→', '│', '\t'].contains(c))?;
    Some((number, sign, &trimmed[sign.len_utf8()..]))
}

/// Removes one level of escapes from both texts. If escapes within quotes may belong to the file, returns two variants:
/// the first keeps these escapes, the second removes them. Returns no variant in which `old` is unchanged.
fn escapes(old: &str, new: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for keeps_quoted in [true, false] {
        // Escaped quotes show that the whole text was escaped once too often, so escapes within quotes do not belong to
        // the file.
        if keeps_quoted && (old.contains("\\\"") || new.contains("\\\"")) {
            continue;
        }
        out.push((unescape(old, keeps_quoted), unescape(new, keeps_quoted)));
    }
    out.retain(|(cleaned, _)| cleaned != old);
    out.dedup();
    out
}

/// Removes one level of escapes: `\n`, `\t`, `\r`, and backslashes before quotes, backslashes and `$`. If
/// `keeps_quoted` is true, escapes within quotes stay. Also converts `\r\n` to `\n`.
fn unescape(text: &str, keeps_quoted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\'
            && let Some(next) = chars.peek().copied()
        {
            let plain = match next {
                'n' => Some('\n'),
                't' => Some('\t'),
                'r' => Some('\r'),
                '"' | '\'' | '`' | '\\' | '$' => Some(next),
                _ => None,
            };
            chars.next();
            match plain.filter(|_| quote.is_none()) {
                Some(plain) => out.push(plain),
                None => out.extend([c, next]),
            }
            continue;
        }
        if keeps_quoted {
            quote = match quote {
                None if c == '"' || c == '\'' => Some(c),
                Some(open) if open == c || c == '\n' => None,
                same => same,
            };
        }
        out.push(c);
    }
    // Use plain newlines here. The line ends of the file are applied later.
    out.replace("\r\n", "\n")
}

/// Splits `text` at its omission lines (see [`is_ellipsis`]). The pieces do not contain these lines. If there are none,
/// returns the whole text as one piece.
pub fn pieces(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if is_ellipsis(line) && out.len() <= OMISSIONS_MAX {
            out.push(String::new());
        } else if let Some(last) = out.last_mut() {
            last.push_str(line);
        }
    }
    out
}

/// Returns whether a line is an omission line: `...`, `// ... rest of the function`, `# … unchanged …`. It begins with
/// dots; outside of a comment it also ends with dots.
fn is_ellipsis(line: &str) -> bool {
    let line = line.trim();
    let bare = line.trim_matches(|c: char| "/#*-;%<>!{}".contains(c) || c.is_whitespace());
    let is_comment = !line.is_empty() && !bare.is_empty() && !line.starts_with(bare);
    let begins = bare.starts_with("...") || bare.starts_with('…');
    let ends = bare.ends_with("...") || bare.ends_with('…');
    begins && (is_comment || ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_placeholder_lines_are_ellipses() {
        for line in [
            "...",
            "  …",
            "// ...",
            "# ... existing code ...",
            "/* ... */",
            "<!-- ... -->",
            "... rest of the file ...",
            "-- … unchanged",
            "{/* ... */}",
        ] {
            assert!(is_ellipsis(line), "{line}");
        }
        for line in [
            "",
            "...args",
            "// see below",
            "foo(...)",
            "}",
            "x = ...",
            "// wait ...",
        ] {
            assert!(!is_ellipsis(line), "{line}");
        }
    }
}
