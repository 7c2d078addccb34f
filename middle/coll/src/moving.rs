//! Bringing data to all ([COLL-3.2], [COLL-3.3]).

use crate::error::Error;
use crate::group::Group;
use crate::header::Kind;
use crate::team::PIECE_BYTES;

impl Group {
    /// The data of the root come to all. It does not wait for them: only if it is far ahead of them it waits for room.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a root that is none; [`Error::Board`] if a member has ended, and [`Error::Mismatch`].
    pub fn broadcast(&self, root: usize, data: &mut [u8]) -> Result<(), Error> {
        self.check_root(root)?;
        self.call(Kind::Broadcast, |call| {
            pieces(data).try_for_each(|piece| match self.rank() == root {
                true => call.send_to_others(0, piece),
                false => call.receive(root, 0, piece),
            })
        })
    }

    /// All get the data of all, which are equally long, in the order of ranks.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `all` is not as long as all of them; else as [`broadcast`](Self::broadcast).
    pub fn allgather(&self, own: &[u8], all: &mut [u8]) -> Result<(), Error> {
        let (len_bytes, size) = (own.len(), self.size());
        if len_bytes.checked_mul(size) != Some(all.len()) {
            return Err(Error::InvalidArgument(format!(
                "{} bytes for {size} times {len_bytes}",
                all.len()
            )));
        }
        self.call(Kind::Gather, |call| {
            // Piece by piece: what others have sent meanwhile would have to be kept.
            for start in (0..len_bytes).step_by(PIECE_BYTES) {
                let end = len_bytes.min(start + PIECE_BYTES);
                call.send_to_others(0, &own[start..end])?;
                for (rank, of_rank) in all.chunks_exact_mut(len_bytes).enumerate() {
                    match rank == self.rank() {
                        true => of_rank[start..end].copy_from_slice(&own[start..end]),
                        false => call.receive(rank, 0, &mut of_rank[start..end])?,
                    }
                }
            }
            Ok(())
        })
    }
}

/// At least one, so that a call of others that send something is noticed.
fn pieces(data: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    let is_empty = data.is_empty();
    let empty: Option<&mut [u8]> = is_empty.then(|| &mut [][..]);
    data.chunks_mut(PIECE_BYTES).chain(empty)
}
