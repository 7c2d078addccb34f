//! Events, from Rust to C and, for their sentences, back.

use bcl_raw::{Cause, Event, OpError, QUIET};

use crate::code;
use crate::types::*;

/// The event as C sees it; `None` for the success of a quiet operation, which only brought memory back.
pub fn to_c(event: Event) -> Option<CEvent> {
    let blank = CEvent::NOTHING;
    Some(match event {
        Event::Sent {
            cookie: QUIET,
            result: Ok(()),
            ..
        }
        | Event::RmaDone {
            cookie: QUIET,
            result: Ok(()),
            ..
        } => return None,
        Event::Sent {
            cookie,
            to,
            channel,
            len_bytes,
            result,
            ..
        } => CEvent {
            kind: EVENT_SENT,
            peer: to.into(),
            cookie,
            len: len_bytes,
            channel,
            ..ended(&result)
        },
        Event::Message(message) => {
            let (from, handle) = message.into_raw();
            CEvent {
                kind: EVENT_MESSAGE,
                peer: from.into(),
                data: handle.start.cast(),
                len: handle.len_bytes.into(),
                handle: handle.to_words(),
                immediate: handle.immediate,
                ..blank
            }
        }
        Event::Received {
            cookie,
            from,
            channel,
            len_bytes,
            immediate,
            result,
            ..
        } => CEvent {
            kind: EVENT_RECEIVED,
            immediate,
            peer: from.into(),
            cookie,
            len: len_bytes,
            channel,
            ..ended(&result)
        },
        Event::RmaDone {
            cookie,
            peer,
            window,
            value,
            result,
            ..
        } => {
            let ended = ended(&result);
            CEvent {
                kind: EVENT_RMA_DONE,
                peer: peer.into(),
                cookie,
                value: if result.is_ok() { value } else { ended.value },
                channel: window,
                ..ended
            }
        }
        Event::RmaArrived {
            from,
            window,
            offset,
            len_bytes,
        } => CEvent {
            kind: EVENT_RMA_ARRIVED,
            peer: from.into(),
            len: len_bytes,
            offset,
            channel: window,
            ..blank
        },
        Event::PeerUp { peer, device, .. } => CEvent {
            kind: EVENT_PEER_UP,
            peer: peer.into(),
            value: device_number(device).into(),
            ..blank
        },
        Event::PeerGone { peer, cause } => CEvent {
            kind: EVENT_PEER_GONE,
            peer: peer.into(),
            ..caused(cause)
        },
        // A kind of a later library: not in this header, so not for this program.
        _ => return None,
    })
}

/// How an operation went, in an event that says nothing else.
pub fn ended(result: &Result<(), OpError>) -> CEvent {
    let mut event = match result {
        Err(OpError::PeerGone(cause)) => caused(*cause),
        _ => CEvent::NOTHING,
    };
    event.status = code::of_operation(result);
    match result {
        Err(OpError::Truncated { capacity_bytes, .. }) => event.value = *capacity_bytes,
        Err(OpError::VersionMismatch { ours, theirs }) => {
            event.value = u64::from(*ours) << 32 | u64::from(*theirs);
        }
        _ => {}
    }
    event
}

/// `cause` and `cause_detail`, of events and whatever else says why something is gone.
pub fn numbers_of(cause: Cause) -> (u32, i32) {
    match cause {
        Cause::Closed => (CAUSE_CLOSED, 0),
        Cause::Exited(status) => (CAUSE_EXITED, status),
        Cause::Killed(signal) => (CAUSE_KILLED, signal),
        Cause::Vanished => (CAUSE_VANISHED, 0),
        Cause::Silent(time_ms) => (CAUSE_SILENT, time_ms.try_into().unwrap_or(i32::MAX)),
        Cause::Restarted => (CAUSE_RESTARTED, 0),
        Cause::Protocol => (CAUSE_PROTOCOL, 0),
    }
}

fn caused(cause: Cause) -> CEvent {
    let (cause, cause_detail) = numbers_of(cause);
    CEvent {
        cause,
        cause_detail,
        ..CEvent::NOTHING
    }
}

/// The cause that an event carries.
pub fn cause_of(event: &CEvent) -> Option<Cause> {
    Some(match event.cause {
        CAUSE_CLOSED => Cause::Closed,
        CAUSE_EXITED => Cause::Exited(event.cause_detail),
        CAUSE_KILLED => Cause::Killed(event.cause_detail),
        CAUSE_VANISHED => Cause::Vanished,
        CAUSE_SILENT => Cause::Silent(event.cause_detail.max(0) as u32),
        CAUSE_RESTARTED => Cause::Restarted,
        CAUSE_PROTOCOL => Cause::Protocol,
        _ => return None,
    })
}

/// The error that an event's status stands for, as far as the event can say.
pub fn error_of(event: &CEvent) -> Option<OpError> {
    Some(match event.status {
        code::TRUNCATED => OpError::Truncated {
            len_bytes: event.len,
            capacity_bytes: event.value,
        },
        code::NO_PORT => OpError::NoPort,
        code::KEY => OpError::KeyMismatch,
        code::VERSION => OpError::VersionMismatch {
            ours: (event.value >> 32) as u32,
            theirs: event.value as u32,
        },
        code::NOT_ALLOWED => OpError::NotAllowed,
        code::UNREACHABLE => OpError::Unreachable,
        code::PEER_GONE => OpError::PeerGone(cause_of(event)?),
        code::RMA_DENIED => OpError::RmaDenied,
        code::RMA_RANGE => OpError::RmaRange,
        code::NO_WINDOW => OpError::NoWindow,
        code::CANCELED => OpError::Canceled,
        code::FAULT => OpError::Fault,
        code::NO_MEMORY => OpError::NoMemory,
        code::NO_DESCRIPTORS => OpError::NoDescriptors,
        code::PROTOCOL => OpError::Protocol,
        _ => return None,
    })
}
