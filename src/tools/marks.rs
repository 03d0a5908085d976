//! Keeps models from overwriting secrets in files with the placeholders that they were shown instead.

use crate::domain::redact::{MARK, Redactor};

/// Returns the error text if writing `after` over `before` would replace a secret with its placeholder.
pub fn destroys(redactor: &Redactor, before: &str, after: &str) -> Option<String> {
    let marks = |text: &str| text.matches(MARK).count();
    (redactor.finds(before) && marks(after) > marks(before)).then(|| {
        format!(
            "the text contains a placeholder ({MARK}…]) where the file has a secret that is hidden from you, and would overwrite the secret: change only the lines around it with edit_file"
        )
    })
}

/// Returns what to add to the error when a text with a placeholder is not found in the file.
pub fn hint(redactor: &Redactor, before: &str, wanted: &str) -> String {
    if wanted.contains(MARK) && redactor.finds(before) {
        return format!(
            ". The file has a secret there, shown to you as the placeholder {MARK}…]: leave that line out of old_text"
        );
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholder_never_overwrites_a_secret() {
        let secret = [("MY_TOKEN".to_string(), "s3cr3t-value".to_string())];
        let redactor = Redactor::new(secret);
        let before = "TOKEN=s3cr3t-value\nPORT=1\n";
        let seen = redactor.text(before).into_owned();
        let refused = |before: &str, after: &str| destroys(&redactor, before, after).is_some();
        assert!(refused(before, &seen.replace("PORT=1", "PORT=2")));
        assert!(!refused(before, "TOKEN=s3cr3t-value\nPORT=2\n"));
        assert!(!refused(before, "nothing of it\n"));
        assert!(!refused(
            "a text about [redacted: X]",
            "another about [redacted: X] [redacted: Y]"
        ));
        assert!(hint(&redactor, before, &seen).contains("leave that line out"));
        assert_eq!(hint(&redactor, before, "PORT=3"), "");
    }
}
