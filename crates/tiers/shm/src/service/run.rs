//! The loop: wait, then act on what has happened.

use std::time::{Duration, Instant};

use bcl_types::{Address, Cause};
use rustix::event::Timespec;
use rustix::event::epoll;
use rustix::io::Errno;

use super::state::{Entry, MAILBOX, OwnPort, PROCESS_BIT, State, Token};
use super::{Command, greet, jobs, linked, meet};

/// Runs until told to stop, or until the kernel does not let it wait.
pub fn run(mut state: State) -> Result<(), Errno> {
    let mut events = Vec::with_capacity(64);
    loop {
        events.clear();
        let patience = state.patience(Instant::now());
        let patience = patience.and_then(|time| Timespec::try_from(time).ok());
        let waited = epoll::wait(
            &state.epoll,
            rustix::buffer::spare_capacity(&mut events),
            patience.as_ref(),
        );
        match waited {
            Err(errno) if errno != Errno::INTR => return Err(errno),
            _ => {}
        }
        for event in &events {
            let data = event.data.u64();
            if data == MAILBOX {
                if !take_commands(&mut state) {
                    return Ok(());
                }
            } else {
                on_event(&mut state, data, event.flags);
            }
        }
        while let Some(token) = state.due(Instant::now()) {
            on_timer(&mut state, token);
        }
    }
}

fn on_event(state: &mut State, data: u64, flags: epoll::EventFlags) {
    let token = data & !PROCESS_BIT;
    match state.entries.get(&token) {
        Some(Entry::Listener { .. }) => greet::accept(state, token),
        Some(Entry::Greeting(_)) => greet::on_readable(state, token),
        Some(Entry::Calling(_)) => meet::on_readable(state, token),
        Some(Entry::Linked(_)) if data & PROCESS_BIT != 0 => linked::on_process_end(state, token),
        Some(Entry::Linked(_)) => linked::on_ready(state, token, flags),
        None => {}
    }
}

fn on_timer(state: &mut State, token: Token) {
    match state.entries.get(&token) {
        Some(Entry::Listener { .. }) => greet::accept(state, token),
        Some(Entry::Greeting(_)) => greet::on_timer(state, token),
        Some(Entry::Calling(_)) => meet::on_timer(state, token),
        Some(Entry::Linked(_)) => linked::on_timer(state, token),
        None => {}
    }
}

/// Returns false when it is time to stop.
fn take_commands(state: &mut State) -> bool {
    let Some(commands) = state.mailbox.take() else {
        return false;
    };
    for command in commands {
        match command {
            Command::Open {
                shared,
                bound,
                folder,
            } => open(
                state,
                OwnPort {
                    shared,
                    bound,
                    folder,
                    peers: Default::default(),
                },
            ),
            Command::Close { port, done } => {
                close(state, port, Cause::Closed);
                let _ = done.send(());
            }
            Command::Connect { port, to, key } => meet::call(state, port, to, key),
            Command::AskRegion { link, region } => linked::ask_region(state, link, region),
            Command::AskWindow { link, window } => linked::ask_window(state, link, window),
            Command::Lost { link } => linked::lost(state, link),
            Command::Request { link, op } => jobs::start(state, link, op),
            Command::DropLink { link, done } => {
                if let Some(token) = state.links.get(&link).copied() {
                    state.drop_link(token);
                }
                let _ = done.send(());
            }
            Command::Exit { status, done } => {
                let ports: Vec<_> = state.ports.keys().copied().collect();
                for port in ports {
                    close(state, port, Cause::Exited(status));
                }
                let _ = done.send(());
            }
        }
    }
    true
}

fn open(state: &mut State, port: OwnPort) {
    let token = state.new_token();
    let address = port.shared.port.address;
    if state.watch(port.bound.listener(), token).is_ok() {
        let listener = Entry::Listener {
            port: address,
            rest: Duration::ZERO,
        };
        state.entries.insert(token, listener);
    }
    state.ports.insert(address, port);
}

/// Says goodbye to the port's peers and forgets it; its name goes with `Bound`.
fn close(state: &mut State, address: Address, cause: Cause) {
    let belongs = |entry: &Entry| match entry {
        Entry::Listener { port, .. } => *port == address,
        Entry::Greeting(greeting) => greeting.port() == address,
        Entry::Calling(call) => call.port == address,
        Entry::Linked(linked) => linked.port == address,
    };
    let tokens: Vec<_> = state
        .entries
        .iter()
        .filter(|(_, entry)| belongs(entry))
        .map(|(token, _)| *token)
        .collect();
    for token in tokens {
        if let Some(Entry::Linked(linked)) = state.entries.get_mut(&token) {
            linked.say_goodbye(cause);
        }
        state.drop_link(token);
        state.entries.remove(&token);
    }
    if let Some(port) = state.ports.remove(&address) {
        state.unwatch(port.bound.listener());
    }
}
