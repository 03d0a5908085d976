//! Finds URLs in a text that are not marked up as links.

/// Returns the byte range of the first URL in `text` that begins with `http://` or `https://`, without punctuation at
/// the end of the URL; `None` if there is none.
pub fn address(text: &str) -> Option<std::ops::Range<usize>> {
    const STARTS: [&str; 2] = ["https://", "http://"];
    let found = STARTS.iter().filter_map(|s| Some((text.find(s)?, s.len())));
    let (start, scheme) = found.min()?;
    let is_end = |c: char| c.is_whitespace() || c.is_control() || "<>\"`|".contains(c);
    let end = text[start..]
        .find(is_end)
        .map_or(text.len(), |at| start + at);
    let mut whole = &text[start..end];
    // A closing parenthesis at the end belongs to the URL only if the URL also contains the opening one.
    while let Some(c) = whole.chars().next_back() {
        let is_own = c == ')' && whole.matches('(').count() >= whole.matches(')').count();
        if is_own || !".,;:!?)]}'*_".contains(c) {
            break;
        }
        whole = &whole[..whole.len() - c.len_utf8()];
    }
    (whole.len() > scheme).then(|| start..start + whole.len())
}
