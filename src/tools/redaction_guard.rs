//! Prevents a model from overwriting a secret in a file with the redaction placeholder that the model sees in place of
//! the secret.

use crate::domain::redact::{PLACEHOLDER_START, Redactor};

/// Returns an error text if a change of the file content from `before` to `after` would replace a secret with its
/// placeholder, otherwise `None`. This is assumed if `before` contains a secret and `after` contains more placeholders
/// than `before`.
pub fn overwrites_secret(redactor: &Redactor, before: &str, after: &str) -> Option<String> {
    let marks = |text: &str| text.matches(PLACEHOLDER_START).count();
    (redactor.has_secret(before) && marks(after) > marks(before)).then(|| {
        format!(
            "the new text contains a placeholder ({PLACEHOLDER_START}…]) that stands for a secret in the file, and would overwrite the secret: use edit_file with an old_text and a new_text that do not include the lines with placeholders; these lines then stay as they are"
        )
    })
}

/// Explains why `wanted` was not found in the file content `before`, if `wanted` contains a placeholder and `before`
/// contains a secret. Otherwise returns an empty text. The caller appends the result to its error.
pub fn hint(redactor: &Redactor, before: &str, wanted: &str) -> String {
    if wanted.contains(PLACEHOLDER_START) && redactor.has_secret(before) {
        return format!(
            ". old_text contains a placeholder ({PLACEHOLDER_START}…]) that stands for a secret in the file: leave that line out of old_text"
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
        let refused =
            |before: &str, after: &str| overwrites_secret(&redactor, before, after).is_some();
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
