//! The rules of `spec/adi.md` on real ports: endpoints of the middle layer.

use std::time::{Duration, Instant};

use bcl_adi::{
    EAGER_MAX, Ended, Error, INJECT_MAX, Memory, OpError, Piece, Receive, Send, Source, Wanted,
    When,
};
use bcl_raw::HasPort;
use bcl_testing::{conformance, contents};
use bcl_types::{Address, Cause, Random};

use crate::party::{Party, completions, open};

fn message(to: Address, tag: u64, bytes: &[u8], context: u64) -> Send {
    Send {
        to,
        space: 0,
        tag,
        data: Some(context),
        memory: Memory::to_read(bytes.as_ptr(), bytes.len()),
        context,
        mark: 0,
        when: When::Reusable,
        quiet: false,
    }
}

fn tagged(source: Source, tag: u64) -> Wanted {
    Wanted {
        space: 0,
        source,
        tag,
        ignore: 0,
    }
}

fn receive(wanted: Wanted, room: &mut [u8], context: u64) -> Receive {
    Receive {
        wanted,
        memory: Memory::one(room.as_mut_ptr(), room.len()),
        context,
        mark: 0,
        multi_min_free_bytes: None,
    }
}

/// Sends, and looks at what comes while there is no room.
fn send(sender: &mut Party, receiver: &mut Party, message: impl Fn(Address) -> Send) {
    let send = message(receiver.address());
    // SAFETY: the callers keep the memory until all has arrived.
    while let Err(error) = unsafe { sender.endpoint.send(send.clone()) } {
        assert!(matches!(error, Error::Again { .. }), "{error}");
        sender.look();
        receiver.look();
    }
}

conformance! {
    /// ADI-1.1, 1.2, 3.1, 3.2: every message is in the memory of its tag, of whatever length it is, whichever was there
    /// first, and those of one tag in order.
    fn messages_of_all_lengths_meet_receives_in_any_order(world) {
        let (mut sent, mut rooms) = (Vec::new(), Vec::new());
        let (mut a, mut b) = (open(world), open(world));
        let lens = [0, 1, 40, 100, 4096, EAGER_MAX, EAGER_MAX + 1, 20_000, 70_000, 1_000_000];
        let mut random = Random::new(3);
        let mut wanted = Vec::new();
        for number in 0..200u64 {
            let bytes = contents::bytes(number, lens[random.index(lens.len())]);
            let tag = random.below(5);
            send(&mut a, &mut b, |to| message(to, tag, &bytes, number));
            wanted.push((tag, number, bytes.len()));
            sent.push(bytes);
            while random.below(2) == 0 && !wanted.is_empty() {
                let place = random.index(wanted.len());
                post_one(&mut b, &mut wanted, place, &mut rooms, a.address());
            }
        }
        while !wanted.is_empty() {
            post_one(&mut b, &mut wanted, 0, &mut rooms, a.address());
        }
        for ended in completions(&mut [&mut a, &mut b], 1, Ended::Receive, 200) {
            assert_eq!((ended.result, ended.peer), (Ok(()), a.address()));
            let room = &rooms[ended.context as usize];
            assert_eq!((ended.data, ended.len_bytes), (Some(room.0), room.1.len() as u64));
            contents::check(room.0, &room.1);
        }
    }

    /// ADI-3.1: any source, and bits of the tag that may be anything; the oldest message first.
    fn wildcards_take_the_oldest(world) {
        let mut room = vec![0; 16];
        let (mut a, mut b) = (open(world), open(world));
        let sent = [7u64, 5, 4].map(|tag| (tag, tag.to_le_bytes()));
        for (tag, bytes) in &sent {
            send(&mut a, &mut b, |to| message(to, *tag, bytes, *tag));
        }
        completions(&mut [&mut a], 0, Ended::Send, 3);
        for (wanted, tag) in [
            (Wanted { ignore: 1, ..tagged(Source::Any, 4) }, 5),
            (Wanted { ignore: u64::MAX, ..tagged(Source::Peer(a.address()), 0) }, 7),
            (tagged(Source::Any, 4), 4),
        ] {
            // SAFETY: the room goes after the endpoint does.
            unsafe { b.receive(receive(wanted, &mut room, 9)) }.unwrap();
            let ended = completions(&mut [&mut a, &mut b], 1, Ended::Receive, 1)[0];
            assert_eq!((ended.tag, ended.len_bytes), (tag, 8));
            assert_eq!(room[..8], tag.to_le_bytes());
        }
    }

    /// ADI-2.4: of whatever length, in pieces, delivered, too long for its memory: no connection is needed, and nothing is waited for.
    fn an_endpoint_talks_to_itself_without_its_port(world) {
        let mut a = open(world);
        let to = a.address();
        for (number, len) in [0, 100, EAGER_MAX, EAGER_MAX + 1, 1_000_000].into_iter().enumerate() {
            for (is_posted, when) in [(true, When::Reusable), (false, When::Reusable), (true, When::Delivered), (false, When::Delivered)] {
                let bytes = contents::bytes(number as u64, len);
                let (mut first, mut second) = (vec![0; len / 3], vec![0; len - len / 3]);
                let pieces = [&mut first, &mut second]
                    .map(|part| Piece { start: part.as_mut_ptr(), len_bytes: part.len() });
                let wanted = Receive {
                    memory: Memory::several(&pieces).unwrap(),
                    ..receive(tagged(Source::Peer(to), 1), &mut [], 7)
                };
                let sent = Send { when, ..message(to, 1, &bytes, 8) };
                // SAFETY: all has ended before the memory goes.
                unsafe {
                    if is_posted {
                        a.receive(wanted).unwrap();
                        a.endpoint.send(sent).unwrap();
                    } else {
                        a.endpoint.send(sent).unwrap();
                        a.receive(wanted).unwrap();
                    }
                }
                let mut ended = Vec::new();
                a.endpoint.look(|| 9, |completion| ended.push(*completion)).unwrap();
                assert_eq!(ended.len(), 2, "{len} bytes, {is_posted}, {when:?}: {ended:?}");
                assert!(ended.iter().all(|ended| ended.result.is_ok() && ended.len_bytes == len as u64));
                first.extend(second);
                contents::check(number as u64, &first);
            }
        }
        let (long, mut room) = (vec![1; 50_000], [0; 10]);
        let too_short = receive(tagged(Source::Any, 2), &mut room, 9);
        // SAFETY: both end before they go.
        unsafe {
            a.endpoint.send(message(to, 2, &long, 10)).unwrap();
            a.receive(too_short).unwrap();
        }
        let truncated = Err(OpError::Truncated { len_bytes: 50_000, capacity_bytes: 10 });
        let mut ended = Vec::new();
        a.endpoint.look(|| 9, |completion| ended.push((completion.kind, completion.result))).unwrap();
        ended.sort_by_key(|(kind, _)| *kind == Ended::Receive);
        assert_eq!(ended, [(Ended::Send, Ok(())), (Ended::Receive, truncated)]);
        assert!(a.endpoint.port().peers().is_empty());
    }

    /// ADI-3.8: what is long, and what is delivered, comes before the short ones behind it, in the next buffer too.
    fn multi_receive_buffers_get_messages_in_order(world) {
        let (mut a, mut b) = (open(world), open(world));
        let mut rooms = [vec![0; 100_100], vec![0; 60_000]];
        for (room, context) in rooms.iter_mut().zip(1..) {
            let multi_min_free_bytes = Some(1000);
            let buffer = Receive { multi_min_free_bytes, ..receive(tagged(Source::Any, 1), room, context) };
            // SAFETY: the rooms go after the endpoints do.
            unsafe { b.receive(buffer) }.unwrap();
        }
        let lens = [100_000, 10, 20, 20_000, 30, 40, 50];
        let messages = lens.map(|len| contents::bytes(len as u64, len));
        for (bytes, number) in messages.iter().zip(0..) {
            let when = if number % 3 == 1 { When::Delivered } else { When::Reusable };
            send(&mut a, &mut b, |to| Send { when, ..message(to, 1, bytes, number) });
        }
        let ended = completions(&mut [&mut a, &mut b], 1, Ended::Receive, lens.len());
        let told: Vec<_> = ended.iter().map(|ended| (ended.context, ended.len_bytes as usize, ended.released)).collect();
        let expected: Vec<_> = lens.iter().map(|len| match len {
            100_000 => (1, 100_000, true),
            len => (2, *len, false),
        }).collect();
        assert_eq!(told, expected);
        contents::check(100_000, &rooms[0][..100_000]);
        contents::check(10, &rooms[1][..10]);
    }

    /// ADI-7.1: a look tells of no more than was asked for, and of the rest the next time, in order.
    fn a_look_tells_of_so_much_at_most(world) {
        let (mut a, mut b) = (open(world), open(world));
        let mut rooms = [[0; 8]; 20];
        for (number, room) in rooms.iter_mut().enumerate() {
            let wanted = tagged(Source::Any, 1);
            // SAFETY: the rooms go after the endpoint does.
            unsafe { b.receive(receive(wanted, room, number as u64)) }.unwrap();
        }
        for _ in 0..20 {
            send(&mut a, &mut b, |to| message(to, 1, b"in order", 0));
        }
        let mut contexts: Vec<_> = b.ended.drain(..).map(|ended| ended.context).collect();
        let start = Instant::now();
        while contexts.len() < 20 {
            b.endpoint.look(|| 0, |_| panic!("nothing was asked for")).unwrap();
            let before = contexts.len();
            b.endpoint.look(|| 4, |ended| contexts.push(ended.context)).unwrap();
            assert!(contexts.len() - before <= 4, "{contexts:?} after {before}");
            a.endpoint.poll().unwrap();
            assert!(start.elapsed() < Duration::from_secs(60), "{contexts:?}");
        }
        assert!(contexts.into_iter().eq(0..20));
    }

    /// ADI-1.5: what was injected may be overwritten at once, although it waits for its receive; head-to-head sends end.
    fn short_messages_are_sent_before_they_are_received(world) {
        for len in [1000, INJECT_MAX] {
            let (mut bytes, mut room) = (vec![1; len], vec![0; len]);
            let (mut a, mut b) = (open(world), open(world));
            let ends = [a.address(), b.address()];
            for (from, to) in [(&mut *a, ends[1]), (&mut *b, ends[0])] {
                let injected = Send { when: When::Injected, ..message(to, 1, &bytes, 1) };
                // SAFETY: it is used before the call returns.
                unsafe { from.send(injected) }.unwrap();
                assert_eq!(from.poll().unwrap().unwrap().kind, Ended::Send);
            }
            bytes.fill(2);
            // SAFETY: the room goes after the endpoints do.
            unsafe { b.receive(receive(tagged(Source::Any, 1), &mut room, 2)) }.unwrap();
            completions(&mut [&mut a, &mut b], 1, Ended::Receive, 1);
            assert!(room.iter().all(|byte| *byte == 1));
        }
        let long = vec![0; INJECT_MAX + 1];
        let mut a = open(world);
        let refused = Send { when: When::Injected, ..message(a.address(), 1, &long, 1) };
        // SAFETY: as above.
        assert!(unsafe { a.send(refused) }.unwrap_err().to_string().contains("at most"));
    }

    /// ADI-1.5: a send that is complete when the message is delivered is not before.
    fn a_delivered_send_waits_for_its_receive(world) {
        let (bytes, mut room) = (vec![1; 100], vec![0; 100]);
        let (mut a, mut b) = (open(world), open(world));
        send(&mut a, &mut b, |to| Send { when: When::Delivered, ..message(to, 1, &bytes, 1) });
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {
            a.look();
            b.look();
            assert!(a.ended.is_empty() && b.ended.is_empty());
        }
        // SAFETY: the room goes after the endpoints do.
        unsafe { b.receive(receive(tagged(Source::Any, 1), &mut room, 2)) }.unwrap();
        let ended = completions(&mut [&mut a, &mut b], 0, Ended::Send, 1)[0];
        assert_eq!((ended.result, ended.context, room), (Ok(()), 1, bytes));
    }

    /// ADI-3.4: one message behind the other, until the buffer is full enough; it ends once, with the last.
    fn a_buffer_takes_many_messages(world) {
        let mut room = vec![0; 100_000];
        let mut sent = Vec::new();
        let (mut a, mut b) = (open(world), open(world));
        let buffer = Receive {
            multi_min_free_bytes: Some(50_000),
            ..receive(tagged(Source::Any, 1), &mut room, 7)
        };
        // SAFETY: the room goes after the endpoints do.
        unsafe { b.receive(buffer) }.unwrap();
        for (number, len) in [(0, 100), (1, 30_000), (2, 8), (3, 40_000), (4, 1)] {
            sent.push(contents::bytes(number, len));
            let bytes = &sent[number as usize];
            send(&mut a, &mut b, |to| message(to, 1, bytes, number));
        }
        let at = room.as_ptr() as usize;
        let ended = completions(&mut [&mut a, &mut b], 1, Ended::Receive, 4);
        for ended in &ended {
            let bytes = &sent[ended.data.unwrap() as usize];
            assert_eq!(room[ended.start - at..][..bytes.len()], **bytes);
        }
        let released: Vec<bool> = ended.iter().map(|ended| ended.released).collect();
        assert_eq!(released, [false, false, false, true]);
        assert!(b.cancel(0, 7).is_err(), "it takes no more");
    }

    /// ADI-3.3: a probe leaves a message, a claim takes it for itself; what is discarded has arrived for its sender.
    fn messages_are_probed_claimed_and_discarded(world) {
        let (short, long) = (contents::bytes(1, 50), contents::bytes(2, 50_000));
        let mut room = vec![0; 50_000];
        let (mut a, mut b) = (open(world), open(world));
        for (tag, bytes) in [(1, &long), (1, &short), (2, &long)] {
            send(&mut a, &mut b, |to| message(to, tag, bytes, tag));
        }
        let start = Instant::now();
        while b.probe(&tagged(Source::Any, 2)).unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(20));
            a.look();
        }
        let of_two = tagged(Source::Peer(a.address()), 2);
        let (probed, discarded) = b.claim(&of_two).unwrap().unwrap();
        assert_eq!((probed.len_bytes, probed.data, probed.from), (50_000, Some(2), a.address()));
        assert_eq!(b.probe(&of_two).unwrap(), None);
        b.discard_claimed(discarded).unwrap();
        let (_, claimed) = b.claim(&tagged(Source::Any, 1)).unwrap().unwrap();
        let (_, discarded) = b.claim(&tagged(Source::Any, 1)).unwrap().unwrap();
        b.discard_claimed(discarded).unwrap();
        assert!(b.discard_claimed(discarded).is_err());
        let memory = Memory::one(room.as_mut_ptr(), room.len());
        // SAFETY: the room goes after the endpoints do.
        unsafe { b.receive_claimed(claimed, memory, (5, 0)) }.unwrap();
        let ended = completions(&mut [&mut a, &mut b], 1, Ended::Receive, 1)[0];
        assert_eq!((ended.context, ended.result, &room), (5, Ok(()), &long));
    }

    /// ADI-3.5: a receive that is too short ends with both lengths, and its sender's send well.
    fn a_receive_that_is_too_short_says_so(world) {
        let (short, long) = (vec![1; 100], vec![2; 100_000]);
        let mut room = vec![0; 60];
        let (mut a, mut b) = (open(world), open(world));
        for bytes in [&short, &long] {
            // SAFETY: the room goes after the endpoints do.
            unsafe { b.receive(receive(tagged(Source::Any, 1), &mut room, 1)) }.unwrap();
            send(&mut a, &mut b, |to| message(to, 1, bytes, 1));
        }
        for len_bytes in [100, 100_000] {
            let ended = completions(&mut [&mut a, &mut b], 1, Ended::Receive, 1)[0];
            let too_long = Err(OpError::Truncated { len_bytes, capacity_bytes: 60 });
            assert_eq!((ended.len_bytes, ended.result), (len_bytes, too_long));
        }
        let sends = completions(&mut [&mut a, &mut b], 0, Ended::Send, 2);
        assert!(sends.iter().all(|ended| ended.result.is_ok()));
    }

    /// ADI-1.6: gathered from pieces, and scattered to others.
    fn memory_in_pieces(world) {
        let mut random = Random::new(5);
        let (mut sent, mut rooms) = (Vec::new(), Vec::new());
        let (mut a, mut b) = (open(world), open(world));
        for number in 0..30u64 {
            let len = [10usize, 3000, 90_000][number as usize % 3];
            let bytes = contents::bytes(number, len);
            let at = random.index(len);
            let mut room = vec![0u8; len];
            let cut = random.index(len);
            let (first, second) = room.split_at_mut(cut);
            let scattered = [first, second].map(|part| Piece { start: part.as_mut_ptr(), len_bytes: part.len() });
            let gathered = [&bytes[..at], &[], &bytes[at..]].map(|part| Piece::to_read(part.as_ptr(), part.len()));
            let memory = Memory::several(&gathered).unwrap();
            send(&mut a, &mut b, |to| Send { memory: memory.clone(), ..message(to, number, &bytes, number) });
            let memory = Memory::several(&scattered).unwrap();
            let wanted = receive(tagged(Source::Any, number), &mut [], number);
            // SAFETY: the rooms go after the endpoints do.
            unsafe { b.receive(Receive { memory, ..wanted }) }.unwrap();
            sent.push(bytes);
            rooms.push(room);
        }
        for ended in completions(&mut [&mut a, &mut b], 1, Ended::Receive, 30) {
            assert_eq!(ended.result, Ok(()));
            contents::check(ended.context, &rooms[ended.context as usize]);
        }
        assert!(Memory::several(&[Piece::to_read(std::ptr::null(), 1); 257]).is_err());
    }

    /// ADI-6.1: what wants a peer that has gone ends with the cause; what wants anybody does not; what had come whole is there.
    fn a_peer_that_goes_ends_what_wanted_it(world) {
        let (short, mut rooms) = (vec![5; 30], vec![vec![0; 30]; 3]);
        let long = vec![6; 500_000];
        let (mut a, mut b) = (open(world), open(world));
        let from = a.address();
        let mut room = vec![0; 30];
        // SAFETY: the room goes after the endpoints do.
        unsafe { b.receive(receive(tagged(Source::Any, 1), &mut room, 1)) }.unwrap();
        send(&mut a, &mut b, |to| message(to, 1, &short, 1));
        completions(&mut [&mut a, &mut b], 1, Ended::Receive, 1);
        // By now there is credit, so that the next comes whole.
        send(&mut a, &mut b, |to| message(to, 1, &short, 1));
        send(&mut a, &mut b, |to| message(to, 2, &long, 1));
        let start = Instant::now();
        while b.probe(&tagged(Source::Any, 2)).unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(20));
            a.look();
        }
        let [one, two, three] = &mut rooms[..] else { unreachable!() };
        // SAFETY: the rooms go after the endpoints do.
        unsafe {
            b.receive(receive(tagged(Source::Peer(from), 9), one, 10)).unwrap();
            b.receive(receive(tagged(Source::Any, 9), two, 11)).unwrap();
        }
        a.endpoint.close(Duration::ZERO).unwrap();
        let ended = completions(&mut [&mut b], 0, Ended::Receive, 1)[0];
        let closed = Err(OpError::PeerGone(Cause::Closed));
        assert_eq!((ended.context, ended.peer, ended.result), (10, from, closed));
        assert_eq!(b.probe(&tagged(Source::Any, 2)).unwrap(), None, "it lay with its sender");
        // SAFETY: as above.
        unsafe { b.receive(receive(tagged(Source::Any, 1), three, 12)) }.unwrap();
        let ended = completions(&mut [&mut b], 0, Ended::Receive, 1)[0];
        assert_eq!((ended.context, ended.result), (12, Ok(())));
        b.cancel(0, 11).unwrap();
        let ended = completions(&mut [&mut b], 0, Ended::Receive, 1)[0];
        assert_eq!((ended.context, ended.result), (11, Err(OpError::Canceled)));
    }

    /// ADI-6.1: a send to nobody ends with the reason.
    fn a_send_to_nobody_ends(world) {
        let bytes = vec![0; 100_000];
        let mut a = open(world);
        let to = Address { port: 900, ..a.address() };
        for len in [100_000, 8] {
            // SAFETY: the bytes go after the endpoint does.
            unsafe { a.send(message(to, 1, &bytes[..len], 1)) }.unwrap();
            let ended = completions(&mut [&mut a], 0, Ended::Send, 1)[0];
            // What was short is complete as soon as it is kept.
            assert_eq!(ended.result.is_err(), len > EAGER_MAX);
        }
    }

    /// ADI-1.1: an endpoint sends to itself.
    fn an_endpoint_reaches_itself(world) {
        let long = contents::bytes(1, 300_000);
        let mut room = vec![0; 300_000];
        let mut a = open(world);
        let itself = a.address();
        // SAFETY: both go after the endpoint does.
        unsafe {
            a.send(message(itself, 1, &long, 1)).unwrap();
            a.receive(receive(tagged(Source::Peer(itself), 1), &mut room, 2)).unwrap();
        }
        let ended = completions(&mut [&mut a], 0, Ended::Receive, 1)[0];
        assert_eq!((ended.result, &room), (Ok(()), &long));
    }

    /// ADI-4.6: many messages that were kept, received one after the other.
    fn kept_messages_are_received_one_by_one(world) {
        let mut room = [0u8; 8];
        let (mut a, mut b) = (open(world), open(world));
        for tag in 0..8_000u64 {
            let bytes = tag.to_le_bytes();
            let how = |send| Send { when: When::Injected, quiet: true, ..send };
            send(&mut a, &mut b, |to| how(message(to, tag, &bytes, tag)));
        }
        for tag in 0..8_000u64 {
            // SAFETY: the room goes after the endpoints do.
            unsafe { b.receive(receive(tagged(Source::Any, tag), &mut room, tag)) }.unwrap();
            let ended = completions(&mut [&mut a, &mut b], 1, Ended::Receive, 1)[0];
            assert_eq!((ended.result, ended.tag, room), (Ok(()), tag, tag.to_le_bytes()));
        }
    }

    /// ADI-4: 20,000 messages that nobody wants yet, received in the opposite order of their tags.
    fn many_unexpected_messages(world) {
        let mut rooms = vec![[0u8; 8]; 20_000];
        let (mut a, mut b) = (open(world), open(world));
        for tag in 0..20_000u64 {
            let bytes = tag.to_le_bytes();
            let how = |send| Send { when: When::Injected, quiet: true, ..send };
            send(&mut a, &mut b, |to| how(message(to, tag, &bytes, tag)));
        }
        for (tag, room) in rooms.iter_mut().enumerate().rev() {
            // SAFETY: the rooms go after the endpoints do.
            unsafe { b.receive(receive(tagged(Source::Any, tag as u64), room, tag as u64)) }.unwrap();
        }
        for ended in completions(&mut [&mut a, &mut b], 1, Ended::Receive, 20_000) {
            assert_eq!((ended.result, ended.tag), (Ok(()), ended.context));
        }
        assert!(rooms.iter().enumerate().all(|(tag, room)| *room == (tag as u64).to_le_bytes()));
    }
}

/// Posts for the oldest message that waits for its receive and has the tag of the one at that place.
fn post_one(
    receiver: &mut Party,
    wanted: &mut Vec<(u64, u64, usize)>,
    place: usize,
    rooms: &mut Vec<(u64, Vec<u8>)>,
    from: Address,
) {
    let tag = wanted[place].0;
    let oldest = wanted.iter().position(|(other, ..)| *other == tag).unwrap();
    let (_, number, len) = wanted.remove(oldest);
    let mut room = vec![0; len];
    let source = if number % 2 == 0 {
        Source::Any
    } else {
        Source::Peer(from)
    };
    let context = rooms.len() as u64;
    // SAFETY: the rooms go after the endpoints do.
    unsafe { receiver.receive(receive(tagged(source, tag), &mut room, context)) }.unwrap();
    rooms.push((number, room));
}
