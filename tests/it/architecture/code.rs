//! Source text as the tests of the architecture read it: without comments, literals and test code.

/// Replaces comments and the content of literals by spaces, so that searches find code only.
pub fn mask(text: &str) -> String {
    let bytes: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let starts = |at: usize, what: &str| {
        what.chars()
            .enumerate()
            .all(|(i, c)| bytes.get(at + i) == Some(&c))
    };
    while let Some(&c) = bytes.get(at) {
        let end = if starts(at, "//") {
            (at..bytes.len())
                .find(|i| bytes[*i] == '\n')
                .unwrap_or(bytes.len())
        } else if starts(at, "/*") {
            (at..bytes.len())
                .find(|i| starts(*i, "*/"))
                .map_or(bytes.len(), |i| i + 2)
        } else if let Some(end) = literal_end(&bytes, at) {
            end
        } else {
            out.push(c);
            at += 1;
            continue;
        };
        let hidden = bytes[at..end].iter();
        out.extend(hidden.map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// Returns the index after the string or character literal that starts at `at`.
fn literal_end(text: &[char], at: usize) -> Option<usize> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let get = |i: usize| text.get(i).copied().unwrap_or('\0');
    match get(at) {
        '"' => {
            let mut end = at + 1;
            while end < text.len() && get(end) != '"' {
                end += if get(end) == '\\' { 2 } else { 1 };
            }
            Some((end + 1).min(text.len()))
        }
        'r' if at == 0
            || !is_word(get(at - 1))
            || (get(at - 1) == 'b' && (at < 2 || !is_word(get(at - 2)))) =>
        {
            let hashes = (at + 1..text.len()).take_while(|i| get(*i) == '#').count();
            if get(at + 1 + hashes) != '"' {
                return None;
            }
            let closes = |i: &usize| get(*i) == '"' && (1..=hashes).all(|h| get(*i + h) == '#');
            let end = (at + 2 + hashes..text.len()).find(closes)?;
            Some(end + 1 + hashes)
        }
        '\'' if get(at + 1) == '\\' => (at + 3..text.len())
            .find(|i| get(*i) == '\'')
            .map(|i| i + 1),
        '\'' if get(at + 2) == '\'' => Some(at + 3),
        _ => None,
    }
}

/// Removes the items with `#[cfg(test)]` from code that [`mask`] has returned.
pub fn without_tests(masked: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::new();
    let mut rest = masked;
    while let Some(at) = rest.find(MARK) {
        out.push_str(&rest[..at]);
        rest = &rest[at + MARK.len()..];
        rest = &rest[item_end(rest)..];
    }
    out.push_str(rest);
    out
}

/// Returns the index after the first item, which ends with a semicolon or a closing brace.
fn item_end(text: &str) -> usize {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => brackets += 1,
            ']' | ')' => brackets = brackets.saturating_sub(1),
            '{' => braces += 1,
            '}' if braces <= 1 => return at + 1,
            '}' => braces -= 1,
            ';' if braces == 0 && brackets == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the submodules that exist only for tests. The names are those of their files, without `.rs`.
pub fn test_modules(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for part in text.split("#[cfg(test)]").skip(1) {
        let item = &part[..item_end(part)];
        if let Some((_, path)) = item.split_once("#[path = \"") {
            let file = path.split('"').next().unwrap_or_default();
            out.push(file.trim_end_matches(".rs").to_string());
        } else if let Some((_, name)) = item.split_once("mod ").filter(|_| item.ends_with(';')) {
            out.push(name.trim_end_matches(';').trim().to_string());
        }
    }
    out
}

#[test]
fn literals_comments_and_tests_are_no_code() {
    let text = "fn a() { b(\"}\"); } // crate::x\n#[cfg(test)]\nmod tests { fn c() { \"{\"; } }\nfn d<'a>(e: char) { e == '{'; r#\"\"f\"#; }";
    let code = without_tests(&mask(text));
    for word in ["fn a()", "fn d<'a>"] {
        assert!(code.contains(word), "{code}");
    }
    for word in ["crate", "mod tests", "fn c", "\"", "'{'"] {
        assert!(!code.contains(word), "{word} in {code}");
    }
    assert_eq!(
        test_modules(
            "#[cfg(test)]\n#[path = \"x_tests.rs\"]\nmod tests;\n#[cfg(test)]\npub(crate) mod cases;"
        ),
        ["x_tests", "cases"]
    );
}
