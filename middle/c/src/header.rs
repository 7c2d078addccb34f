//! Whether the headers and this crate agree.

use bcl_adi::{Datum, Function};
use bcl_cface::{c_constants, c_structure, layout};

use crate::types::*;

fn assertions() -> String {
    let mut c =
        "#include <bcl_adi.h>\n#include <bcl_reflect.h>\n#include <bbp.h>\n#include <bcl_coll.h>\n"
            .to_owned();
    c_structure!(c, CLife = "bcl_reflect_life" { member, life, cause, cause_detail });
    c_constants!(
        c,
        "BCL_REFLECT_",
        NAME_MAX = bcl_reflect::NAME_MAX_BYTES,
        MEMBERS_MAX = bcl_reflect::MEMBERS_MAX,
        LEN_MAX = bcl_reflect::REGION_MAX_BYTES,
        NEVER = NEVER,
        THERE = THERE,
        GONE = GONE,
    );
    c_structure!(c, CBoardOptions = "bbp_options" {
        size, members, member, data, hosts, address, options,
    });
    c_structure!(c, CMessage = "bbp_message" { from, reserved, len });
    c_structure!(c, CBoardChange = "bbp_change" { member, taken_back, reserved });
    c_constants!(
        c,
        "BBP_",
        NAME_MAX = bcl_bbp::NAME_MAX_BYTES,
        MEMBERS_MAX = bcl_bbp::MEMBERS_MAX,
        DATA = bcl_bbp::DATA_BYTES,
        DATA_MAX = bcl_bbp::DATA_MAX_BYTES,
        ANY = ANY,
    );
    c_constants!(c, "BCL_COLL_", CONTEXT_MAX = bcl_coll::CONTEXT_MAX);
    c_structure!(c, COutgoing = "bcl_adi_outgoing" {
        to, tag, data, context, pieces, count, space, flags, reserved,
    });
    c_structure!(c, CWanted = "bcl_adi_wanted" { from, tag, ignore, space, reserved });
    c_structure!(c, CIncoming = "bcl_adi_incoming" {
        wanted, context, pieces, count, reserved, multi_min_free,
    });
    c_structure!(c, CProbed = "bcl_adi_probed" { from, tag, data, len, claim, has_data, reserved });
    c_structure!(c, CCompletion = "bcl_adi_completion" {
        kind => type, status, peer, context, tag, data, len, start, value, cause, cause_detail, space, has_data,
        released, reserved,
    });
    c_structure!(c, CPlace = "bcl_adi_place" { owner, key, address });
    c_structure!(c, CChange = "bcl_adi_change" {
        function, kind => type, count, reserved, operands, compared, found,
    });
    c_constants!(
        c,
        "BCL_ADI_",
        SPACES = bcl_adi::SPACES,
        EAGER_MAX = bcl_adi::EAGER_MAX,
        INJECT_MAX = bcl_adi::INJECT_MAX,
        SHORT_MAX = bcl_adi::SHORT_MAX,
        MANUAL = MANUAL,
        INJECTED = INJECTED,
        DELIVERED = DELIVERED,
        QUIET = QUIET,
        DATA = DATA,
        SENT = SENT,
        RECEIVED = RECEIVED,
        PUT_DONE = PUT_DONE,
        GET_DONE = GET_DONE,
        ATOMIC_DONE = ATOMIC_DONE,
        WRITTEN = WRITTEN,
        LOST = LOST,
    );
    let types = "INT8 UINT8 INT16 UINT16 INT32 UINT32 INT64 UINT64 INT128 UINT128 FLOAT DOUBLE FLOAT_COMPLEX DOUBLE_COMPLEX";
    let functions = "MIN MAX SUM PRODUCT LOGICAL_OR LOGICAL_AND LOGICAL_XOR BIT_OR BIT_AND BIT_XOR READ WRITE \
                     SWAP_EQ SWAP_NE SWAP_LT SWAP_LE SWAP_GT SWAP_GE SWAP_MASKED";
    number(&mut c, types, &Datum::ALL.map(|datum| datum as u32));
    number(
        &mut c,
        functions,
        &Function::ALL.map(|function| function as u32),
    );
    c
}

/// Asserts what each of the names stands for.
fn number(c: &mut String, names: &str, numbers: &[u32]) {
    assert_eq!(names.split_whitespace().count(), numbers.len());
    for (name, number) in names.split_whitespace().zip(numbers) {
        *c += &format!("_Static_assert(BCL_ADI_{name} == {number}, \"BCL_ADI_{name}\");\n");
    }
}

#[test]
fn the_header_says_what_the_code_does() {
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let bcl = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/face/capi/include"
    );
    layout::check("bcl-adi-header", &assertions(), &[ours, bcl]);
}
