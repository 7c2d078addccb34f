//! SEM-6: buffers.

use bcl::{Access, Buffer, DmaBuffer, EnabledBuffer, Error};
use bcl_testing::{PortLike, conformance, contents};

conformance! {
    /// SEM-6.1, SEM-6.3
    fn each_kind_of_buffer_does_everything(world) {
        let (a, b) = world.pair();
        let kinds = |len: usize| -> [Buffer; 3] {
            [
                vec![0; len].into(),
                EnabledBuffer::new(vec![0; len]).into(),
                DmaBuffer::new(len).unwrap().into(),
            ]
        };
        for len in [1, 30_000] {
            for mut from in kinds(len) {
                from.as_mut_slice().copy_from_slice(&contents::bytes(1, len));
                for into in kinds(len) {
                    b.port().post(1, into, 1).unwrap();
                    a.port().send(b.address, 1, from, 1).unwrap();
                    contents::check(1, &b.received(1).2);
                    from = a.sent(1).1.unwrap();
                    assert_eq!(from.len(), len);
                }
                for window in kinds(len) {
                    b.port().bind(0, window, Access::ALL).unwrap();
                    a.port().put(b.address, 0, 0, from, 1).unwrap();
                    from = a.rma(1).1.unwrap();
                    contents::check(1, &b.port().unbind(0).unwrap().into_vec());
                }
            }
        }
    }

    /// SEM-6.2, SEM-9: SEM-9.2
    fn too_much_memory_is_an_error(world) {
        let error = DmaBuffer::new(1 << 50).unwrap_err();
        assert!(matches!(error, Error::NoMemory(_)), "{error}");
        let (a, b) = world.pair();
        a.meet(&b);
        assert!(DmaBuffer::new(0).unwrap().is_empty());
    }

    /// SEM-6.4
    fn a_buffer_shown_for_reading_can_be_a_window_for_writing(world) {
        let (a, b) = world.pair();
        let mut buffer = Buffer::from(DmaBuffer::new(100_000).unwrap());
        for round in 0..3u8 {
            b.port().post(1, vec![0; 100_000], 1).unwrap();
            a.port().send(b.address, 1, buffer, 1).unwrap();
            let (sent, received) = (a.sent(1), b.received(1));
            assert_eq!((sent.0, received.0), (Ok(()), Ok(())));
            a.port().bind(0, sent.1.unwrap(), Access::ALL).unwrap();
            b.port().put(a.address, 0, 10, vec![round + 1; 10], 2).unwrap();
            assert_eq!(b.rma(2).0, Ok(0));
            buffer = a.port().unbind(0).unwrap();
            assert_eq!(buffer.as_slice()[10..20], [round + 1; 10]);
        }
    }
}
