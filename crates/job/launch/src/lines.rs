//! Output of the processes, whole lines at a time and labelled, so that they do not mix within a line.

use crate::name::Name;

/// A line that grows longer than this is passed on in pieces.
const LINE_MAX: usize = 64 << 10;

/// What one process writes to one of its streams.
#[derive(Debug)]
pub struct Lines {
    /// What stands before each line; `None` shows the lines as they are.
    label: Option<String>,
    rest: Vec<u8>,
}

impl Lines {
    /// Each line with the name of the process before it.
    pub fn labelled(name: Name) -> Self {
        Self {
            label: Some(format!("[{name}] ")),
            rest: Vec::new(),
        }
    }

    /// As they are.
    pub fn plain() -> Self {
        Self {
            label: None,
            rest: Vec::new(),
        }
    }

    /// Takes bytes in; returns what is ready to be shown.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n');
        let mut ready: Vec<u8> = self.rest.drain(..whole.map_or(0, |end| end + 1)).collect();
        if let Some(label) = &self.label {
            ready = labelled(label, &ready);
        }
        if self.rest.len() >= LINE_MAX {
            ready.extend(self.finish());
        }
        ready
    }

    /// The last line, if nothing ended it.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.rest);
        match &self.label {
            // Two labels in one line would mislead.
            Some(label) if !rest.is_empty() => {
                let mut line = labelled(label, &rest);
                line.push(b'\n');
                line
            }
            _ => rest,
        }
    }
}

fn labelled(label: &str, lines: &[u8]) -> Vec<u8> {
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    lines.fold(Vec::new(), |mut all, line| {
        all.extend_from_slice(label.as_bytes());
        all.extend_from_slice(line);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_labelled_when_they_are_whole() {
        let mut lines = Lines::labelled(Name { group: 0, rank: 3 });
        assert_eq!(lines.push(b"ab"), b"");
        assert_eq!(lines.push(b"c\n\nd"), b"[3] abc\n[3] \n");
        assert_eq!(lines.finish(), b"[3] d\n");
        assert_eq!(lines.finish(), b"");
    }

    #[test]
    fn a_line_without_end_does_not_fill_memory() {
        let mut lines = Lines::labelled(Name { group: 0, rank: 0 });
        let shown = lines.push(&vec![b'x'; LINE_MAX]);
        assert_eq!(shown.len(), LINE_MAX + "[0] \n".len());
        assert!(lines.finish().is_empty());
    }

    #[test]
    fn plain_lines_are_shown_whole_and_as_they_are() {
        let mut lines = Lines::plain();
        assert_eq!(lines.push(b"ab"), b"");
        assert_eq!(lines.push(b"c\n\nd"), b"abc\n\n");
        assert_eq!(lines.finish(), b"d");
    }
}
