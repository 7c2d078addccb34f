//! Settings as shells read them.

use super::family::Settings;

/// Whose language.
#[derive(Clone, Copy, Debug)]
pub enum Shell {
    Bourne,
    C,
    Fish,
}

impl Shell {
    /// Line by line. Each ends in a semicolon, for `eval` without quotes makes one line of them, and so comments come last;
    /// in csh, always one line, there are none.
    pub fn script(self, settings: &Settings) -> Vec<String> {
        let variables = settings.environment.iter();
        let mut lines: Vec<_> = variables
            .map(|(name, value)| {
                let value = self.quoted(value);
                match self {
                    Self::Bourne => format!("export {name}={value};"),
                    Self::C => format!("setenv {name} {value};"),
                    Self::Fish => format!("set -gx {name} {value};"),
                }
            })
            .collect();
        if !matches!(self, Self::C) {
            lines.extend(settings.notes.iter().map(|note| format!("# {note}")));
        }
        lines
    }

    /// One word, whatever is in it.
    fn quoted(self, text: &str) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        if text.chars().all(is_plain) {
            return text.to_owned();
        }
        let inside = match self {
            Self::Bourne => text.replace('\'', r"'\''"),
            // Events of the history are looked for in quotes too.
            Self::C => text.replace('\'', r"'\''").replace('!', r"\!"),
            Self::Fish => text.replace('\\', r"\\").replace('\'', r"\'"),
        };
        format!("'{inside}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_gets_its_own_language() {
        let settings = Settings {
            environment: vec![
                ("A", "it's!".into()),
                ("B", r"^a\b".into()),
                ("C", "/d".into()),
            ],
            notes: vec!["by hand"],
        };
        let script = |shell: Shell| shell.script(&settings).join("\n");
        assert_eq!(
            script(Shell::Bourne),
            "export A='it'\\''s!';\nexport B='^a\\b';\nexport C=/d;\n# by hand"
        );
        assert_eq!(
            script(Shell::C),
            "setenv A 'it'\\''s\\!';\nsetenv B '^a\\b';\nsetenv C /d;"
        );
        assert_eq!(
            script(Shell::Fish),
            "set -gx A 'it\\'s!';\nset -gx B '^a\\\\b';\nset -gx C /d;\n# by hand"
        );
    }
}
