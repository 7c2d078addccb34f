//! `rdma/fi_errno.h`: reasons. Calls return them negated; most are errno's.

constants! {
    i32 {
        FI_EAGAIN = libc::EAGAIN,
        FI_ENOMEM = libc::ENOMEM,
        FI_EACCES = libc::EACCES,
        FI_EBUSY = libc::EBUSY,
        FI_EINVAL = libc::EINVAL,
        FI_ENOENT = libc::ENOENT,
        FI_ENOMSG = libc::ENOMSG,
        FI_ENOSYS = libc::ENOSYS,
        FI_ENODATA = libc::ENODATA,
        FI_EIO = libc::EIO,
        FI_EMSGSIZE = libc::EMSGSIZE,
        FI_EOPNOTSUPP = libc::EOPNOTSUPP,
        FI_ETIMEDOUT = libc::ETIMEDOUT,
        FI_ECANCELED = libc::ECANCELED,
        FI_ETOOSMALL = 257,
        FI_EOPBADSTATE = 258,
        FI_EAVAIL = 259,
        FI_EBADFLAGS = 260,
        FI_ENOEQ = 261,
        FI_EDOMAIN = 262,
        FI_ENOCQ = 263,
        FI_ECRC = 264,
        FI_ETRUNC = 265,
        FI_ENOKEY = 266,
        FI_ENOAV = 267,
        FI_EOVERRUN = 268,
        FI_ENORX = 269,
    }
}
