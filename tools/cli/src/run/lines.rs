//! Output of the processes, whole lines at a time and labelled, so that they do not mix within a line.

/// A line that grows longer than this is passed on in pieces.
const LINE_MAX: usize = 64 << 10;

/// What one process writes to one of its streams.
#[derive(Debug)]
pub struct Lines {
    prefix: String,
    rest: Vec<u8>,
}

impl Lines {
    pub fn new(rank: usize) -> Self {
        Self {
            prefix: format!("[{rank}] "),
            rest: Vec::new(),
        }
    }

    /// Takes bytes in; returns what is ready to be shown.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(bytes);
        let mut ready = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            self.show(end, &mut ready);
            self.rest.drain(..1);
        }
        if self.rest.len() >= LINE_MAX {
            self.show(self.rest.len(), &mut ready);
        }
        ready
    }

    /// The last line, if nothing ended it.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut ready = Vec::new();
        if !self.rest.is_empty() {
            self.show(self.rest.len(), &mut ready);
        }
        ready
    }

    fn show(&mut self, len: usize, ready: &mut Vec<u8>) {
        ready.extend_from_slice(self.prefix.as_bytes());
        ready.extend(self.rest.drain(..len));
        ready.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_labelled_when_they_are_whole() {
        let mut lines = Lines::new(3);
        assert_eq!(lines.push(b"ab"), b"");
        assert_eq!(lines.push(b"c\n\nd"), b"[3] abc\n[3] \n");
        assert_eq!(lines.finish(), b"[3] d\n");
        assert_eq!(lines.finish(), b"");
    }

    #[test]
    fn a_line_without_end_does_not_fill_memory() {
        let mut lines = Lines::new(0);
        let shown = lines.push(&vec![b'x'; LINE_MAX]);
        assert_eq!(shown.len(), LINE_MAX + "[0] \n".len());
        assert!(lines.finish().is_empty());
    }
}
