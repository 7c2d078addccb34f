//! Rust source with everything but the code blanked out, so that a rule about code does not stumble
//! over a comment or a string that only speaks of it.

/// `source` with comments, strings and character literals replaced by spaces; lines stay where they are.
pub fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let after_word = code.chars().next_back().is_some_and(is_word);
        let skipped = skippable_len(rest, after_word);
        if skipped == 0 {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            let (blank, tail) = rest.split_at(skipped);
            code.extend(blank.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = tail;
        }
    }
    code
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length in bytes of the comment, string or character that `text` starts with, or 0.
fn skippable_len(text: &str, after_word: bool) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_len(text);
    }
    if text.starts_with('"') {
        return quoted_len(text, '"');
    }
    if text.starts_with('\'') {
        return char_literal_len(text);
    }
    if !after_word && text.starts_with(['r', 'b', 'c']) {
        return raw_string_len(text);
    }
    0
}

/// Block comments nest in Rust.
fn block_comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A tick opens a character only if another tick closes it; else it is a lifetime or a label.
fn char_literal_len(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted_len(text, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

/// `r"..."`, `r#"..."#` and the same after `b` or `c`; plain `b"..."` is left to the caller.
fn raw_string_len(text: &str) -> usize {
    let prefix = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let Some(hashes_on) = prefix.strip_prefix('r') else {
        return 0;
    };
    let body = hashes_on.trim_start_matches('#');
    let hashes = hashes_on.len() - body.len();
    if !body.starts_with('"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let opened_at = text.len() - body.len() + 1;
    text[opened_at..]
        .find(&close)
        .map_or(text.len(), |at| opened_at + at + close.len())
}

#[test]
fn blanks_comments_and_literals_and_keeps_lines() {
    let cases = [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"x("un\"safe") + 1"#, "x(          ) + 1"),
        (r##"r#"a"b"# c"##, "         c"),
        ("'a' '\\'' 'static", "         'static"),
        ("for<'a> fn(&'a str)", "for<'a> fn(&'a str)"),
        ("/*\n*/x", "  \n  x"),
        ("br\"x\" var\"y\"", "      var   "),
    ];
    for (source, expected) in cases {
        assert_eq!(code_only(source), expected, "of {source:?}");
    }
}
