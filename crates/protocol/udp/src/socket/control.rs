//! Control messages: what a message to or from the kernel carries beside its bytes.

use std::mem::MaybeUninit;

/// Room for the control messages of one message, aligned as the kernel wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Room<const BYTES: usize>([MaybeUninit<u8>; BYTES]);

/// Room for the segment size that a sender asks for.
pub(super) type SegmentRoom = Room<{ space(size_of::<u16>()) }>;

impl<const BYTES: usize> Room<BYTES> {
    pub(super) const EMPTY: Room<BYTES> = Room([MaybeUninit::uninit(); BYTES]);

    pub(super) fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// The room that a control message with `bytes` of data takes.
pub(super) const fn space(bytes: usize) -> usize {
    // SAFETY: only arithmetic.
    unsafe { libc::CMSG_SPACE(bytes as u32) as usize }
}

/// Asks the kernel to cut what `message` sends into datagrams of `segment_bytes`.
pub(super) fn ask_for_segments(
    message: &mut libc::msghdr,
    room: &mut SegmentRoom,
    segment_bytes: u16,
) {
    message.msg_control = room.as_mut_ptr();
    message.msg_controllen = size_of::<SegmentRoom>() as _;
    // SAFETY: the control pointer and length describe `room`, which is aligned and has space for exactly one
    // message of a `u16`.
    unsafe {
        let control = libc::CMSG_FIRSTHDR(message);
        (*control).cmsg_level = libc::SOL_UDP;
        (*control).cmsg_type = crate::options::UDP_SEGMENT;
        (*control).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
        libc::CMSG_DATA(control)
            .cast::<u16>()
            .write_unaligned(segment_bytes);
    }
}

/// The data of the first control message of `level` and `kind` that is long enough for a `T`.
///
/// # Safety
/// The kernel has filled `message`, whose control room is still there; `T` is valid for any bytes.
pub(super) unsafe fn find<T: Copy>(
    message: &libc::msghdr,
    level: libc::c_int,
    kind: libc::c_int,
) -> Option<(T, *const u8)> {
    // SAFETY: the kernel has written well-formed messages within the room and said how long they are.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            let fits = header.cmsg_len >= libc::CMSG_LEN(size_of::<T>() as u32) as usize;
            if header.cmsg_level == level && header.cmsg_type == kind && fits {
                let data = libc::CMSG_DATA(control);
                return Some((data.cast::<T>().read_unaligned(), data));
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    None
}
