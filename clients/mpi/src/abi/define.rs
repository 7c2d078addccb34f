//! How structures and constants are written down here: once, for the compiler and for the test that compares them with the
//! headers of the machine.

/// A structure as we have it.
#[cfg(test)]
pub(crate) struct Layout {
    pub name: &'static str,
    pub size: usize,
    pub fields: &'static [Field],
    /// What later versions have at the end, and which was the first.
    pub later: Option<((u32, u32), &'static [Field])>,
}

/// Name, offset and size.
#[cfg(test)]
pub(crate) type Field = (&'static str, usize, usize);

/// Defines structures. A tail that a version of libfabric has added stands behind `+ since (major, minor)`.
macro_rules! structures {
    ($($(#[$meta:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }
        $(+ since ($major:literal, $minor:literal) { $($later:ident: $later_type:ty),* $(,)? })?)*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            #[repr(C)]
            pub struct $name {
                $(pub $field: $type,)*
                $($(pub $later: $later_type,)*)?
            }
        )*

        #[cfg(test)]
        pub(crate) const LAYOUTS: &[$crate::abi::define::Layout] = &[$($crate::abi::define::Layout {
            name: stringify!($name),
            size: size_of::<$name>(),
            fields: &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$type>())),*],
            later: structures!(@later $name $(($major, $minor) $($later: $later_type),*)?),
        }),*];
    };
    (@later $name:ident) => { None };
    (@later $name:ident ($major:literal, $minor:literal) $($field:ident: $type:ty),*) => {
        Some((
            ($major, $minor),
            &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$type>())),*],
        ))
    };
}

/// Defines constants, grouped by type.
macro_rules! constants {
    ($($type:ident { $($name:ident = $value:expr),* $(,)? })*) => {
        $($(pub const $name: $type = $value;)*)*

        #[cfg(test)]
        pub(crate) const CONSTANTS: &[(&str, u64)] = &[$($((stringify!($name), $name as u64)),*),*];
    };
}

/// A place for a function in a table; C may have left it empty.
macro_rules! call {
    (($($argument:ty),* $(,)?) -> $result:ty) => {
        Option<unsafe extern "C" fn($($argument),*) -> $result>
    };
}
