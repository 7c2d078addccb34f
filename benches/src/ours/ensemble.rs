//! Starts the processes of a measurement, lets them begin together and collects their figures.
//!
//! Each says `ready` once its port is open, begins when it is told to, and prints its figure. It keeps
//! its port until its standard input ends, so that no one loses a partner in the middle of a message.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::command;
use crate::effort::LIMIT;
use crate::error::{Error, Result, system};
use crate::watchdog::Watchdog;

/// One started process.
struct Member {
    description: String,
    child: Child,
    stdout: BufReader<ChildStdout>,
}

/// Runs all `commands` together; the sum of what they print, for most print 0.
///
/// # Errors
/// When one fails, hangs or prints something else.
pub fn sum_of_figures(mut commands: Vec<Command>) -> Result<f64> {
    let mut members = Vec::new();
    for command in &mut commands {
        members.push(Member::start(command)?);
    }
    let watchdog = Watchdog::over(members.iter().map(|member| &member.child), LIMIT);
    for member in &mut members {
        member.line()?;
    }
    for member in &mut members {
        member.tell_to_begin()?;
    }
    let mut sum = 0.0;
    for member in &mut members {
        sum += member.figure()?;
    }
    for member in &mut members {
        drop(member.child.stdin.take());
    }
    for member in &mut members {
        let status = member.child.wait();
        status.map_err(system("wait for", &member.description))?;
    }
    watchdog.rest();
    Ok(sum)
}

impl Member {
    fn start(command: &mut Command) -> Result<Self> {
        let description = command::describe(command);
        let mut child = command::start(command.stdin(Stdio::piped()), "util-linux")?;
        let stdout = child
            .stdout
            .take()
            .expect("its output was asked for as a pipe");
        Ok(Self {
            description,
            child,
            stdout: BufReader::new(stdout),
        })
    }

    /// The next line it prints; its end is its failure.
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout
            .read_line(&mut line)
            .map_err(system("read from", &self.description))?;
        if line.is_empty() {
            return Err(self.failure());
        }
        Ok(line)
    }

    fn tell_to_begin(&mut self) -> Result<()> {
        let stdin = self
            .child
            .stdin
            .as_mut()
            .expect("its input was asked for as a pipe");
        stdin
            .write_all(b"begin\n")
            .map_err(system("tell to begin", &self.description))
    }

    fn figure(&mut self) -> Result<f64> {
        let line = self.line()?;
        line.trim().parse().map_err(|_| Error::Unreadable {
            command: self.description.clone(),
            output: line,
        })
    }

    fn failure(&mut self) -> Error {
        let mut stderr = String::new();
        if let Some(pipe) = &mut self.child.stderr {
            // What cannot be read cannot be shown; the failure itself is reported either way.
            let _ = pipe.read_to_string(&mut stderr);
        }
        let status = self.child.wait();
        Error::Failed {
            command: self.description.clone(),
            status: status.map_or_else(|error| error.to_string(), |status| status.to_string()),
            stderr: stderr.trim().to_owned(),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // One that has ended already is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        command::from_words(&["sh", "-c", script])
    }

    #[test]
    fn figures_are_added_up() {
        let rank = "echo ready; read begin; echo 1.5; cat";
        assert_eq!(sum_of_figures(vec![shell(rank), shell(rank)]).unwrap(), 3.0);
    }

    #[test]
    fn one_that_fails_is_reported_in_its_own_words() {
        let fails = shell("echo ready; read begin; echo the port is taken >&2; exit 1");
        let waits = shell("echo ready; read begin; cat; echo 1");
        let error = sum_of_figures(vec![fails, waits]).unwrap_err();
        assert!(error.to_string().contains("the port is taken"), "{error}");
    }
}
