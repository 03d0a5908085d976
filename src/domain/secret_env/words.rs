//! The words of the name of an environment variable.

/// Splits a name into words and returns the words in uppercase. A word ends before a character that is not ASCII
/// alphanumeric, and before an ASCII uppercase character that follows a lowercase one.
pub fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if begins || !c.is_ascii_alphanumeric() {
            out.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = out.last_mut()
        {
            word.push(c.to_ascii_uppercase());
        }
        before = c;
    }
    out.retain(|word| !word.is_empty());
    out
}
