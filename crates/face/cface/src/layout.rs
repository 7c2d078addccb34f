//! Whether a header and its library agree: assertions that a C compiler checks, made from the Rust side. For tests.

use std::path::Path;
use std::process::Command;

/// Writes assertions of size, and of place and size of each field, of a structure; a field whose C name differs is
/// `rust => c`. All fields have to be listed, and there has to be no hole.
#[macro_export]
macro_rules! c_structure {
    ($source:ident, $rust:ident = $c:literal { $($field:ident $(=> $name:ident)?),* $(,)? }) => {
        $source += &format!("_Static_assert(sizeof({0}) == {1}, \"{0}\");\n", $c, size_of::<$rust>());
        $source += &format!("_Static_assert(_Alignof({0}) == {1}, \"{0}\");\n", $c, align_of::<$rust>());
        let mut fields_bytes = 0;
        $(
            let name = $crate::c_structure!(@name $field $($name)?);
            let offset = ::std::mem::offset_of!($rust, $field);
            let len = $crate::layout::field_len(|value: &$rust| size_of_val(&value.$field));
            $source += &format!("_Static_assert(offsetof({0}, {name}) == {offset}, \"{0}.{name}\");\n", $c);
            $source += &format!("_Static_assert(sizeof((({0} *)0)->{name}) == {len}, \"{0}.{name}\");\n", $c);
            fields_bytes += len;
        )*
        assert_eq!(fields_bytes, size_of::<$rust>(), "{} has a field that is not listed, or a hole", $c);
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:ident) => { stringify!($name) };
}

/// Writes assertions of constants, whose names in C begin with a prefix.
#[macro_export]
macro_rules! c_constants {
    ($source:ident, $prefix:literal, $($c:ident = $rust:expr),* $(,)?) => {
        $($source += &format!("_Static_assert({0}{1} == {2}, \"{0}{1}\");\n", $prefix, stringify!($c), $rust);)*
    };
}

/// Of a structure of numbers and pointers, the length of a field.
pub fn field_len<T>(of: impl Fn(&T) -> usize) -> usize {
    // SAFETY: numbers and pointers, for which zero is a value.
    of(&unsafe { std::mem::zeroed() })
}

/// Has a C compiler check assertions about a header that is in one of the folders.
///
/// # Panics
/// If one is wrong, with what the compiler says.
pub fn check(name: &str, assertions: &str, folders: &[&str]) {
    let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    let agree = std::fs::create_dir_all(&folder)
        .and_then(|()| compile(&folder.join("header.c"), assertions, folders));
    let _ = std::fs::remove_dir_all(&folder);
    match agree {
        Ok(said) => assert!(said.is_empty(), "{said}"),
        Err(error) => panic!("cannot ask the compiler: {error}"),
    }
}

fn compile(source: &Path, assertions: &str, folders: &[&str]) -> std::io::Result<String> {
    std::fs::write(source, assertions)?;
    let output = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
        .args(folders.iter().map(|folder| format!("-I{folder}")))
        .arg(source)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() || !said.is_empty() {
        true => Ok(said),
        false => Ok(format!("cc: {}", output.status)),
    }
}
