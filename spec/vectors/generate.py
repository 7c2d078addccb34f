#!/usr/bin/env python3
"""Writes the test vectors of spec/wire.md beside itself: an implementation of its own, from the text alone.

Proves the NH that RFC 4418's vectors contain by computing their tags; needs openssl for the AES in them.
"""

import hashlib
import hmac
import json
import pathlib
import struct
import subprocess

HERE = pathlib.Path(__file__).parent
JOB_KEY = bytes(range(32))
SECRET = hmac.new(JOB_KEY, b"derived\0bcl udp", hashlib.sha256).digest()


def siphash24(key, data):
    """Aumasson and Bernstein 2012, for any length."""
    mask = 2**64 - 1
    rotl = lambda x, b: (x << b | x >> (64 - b)) & mask
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = v[0] + v[1] & mask
            v[2] = v[2] + v[3] & mask
            v[1] = rotl(v[1], 13) ^ v[0]
            v[3] = rotl(v[3], 16) ^ v[2]
            v[0] = rotl(v[0], 32)
            v[2] = v[2] + v[1] & mask
            v[0] = v[0] + v[3] & mask
            v[1] = rotl(v[1], 17) ^ v[2]
            v[3] = rotl(v[3], 21) ^ v[0]
            v[2] = rotl(v[2], 32)

    tail = len(data) % 8
    last = data[len(data) - tail :] + bytes(7 - tail) + bytes([len(data) % 256])
    for (word,) in struct.iter_unpack("<Q", data[: len(data) - tail] + last):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def nh(key, payload):
    """[WIRE-3.2]"""
    payload += bytes(-len(payload) % 8)
    total = 0
    for at in range(0, len(payload), 8):
        m0, m1 = struct.unpack_from("<II", payload, at)
        k0, k1 = struct.unpack_from("<II", key, at)
        total += ((m0 + k0) % 2**32) * ((m1 + k1) % 2**32)
    return total % 2**64


def derive(label, data=b""):
    """H of [WIRE-3.3]"""
    return hmac.new(SECRET, b"bcl wire 1 " + label + b"\0" + data, hashlib.sha256).digest()


NH_KEY = b"".join(derive(b"nh", struct.pack("<I", n)) for n in range(288))
SETUP_KEY = derive(b"setup")[:16]
JOB_ID = derive(b"id")[:8]

TRANSCRIPT = {
    "initiator_node": 0x0A000001,
    "initiator_port": 1024,
    "responder_node": 0x0A000002,
    "responder_port": 7,
    "initiator_incarnation": 0x1111111122222222,
    "responder_incarnation": 0x3333333344444444,
    "initiator_nonce": 0x5555555566666666,
    "token": 0x7777777788888888,
}
# In the order of [WIRE-3.4].
CONNECTION = derive(b"connection", struct.pack("<IHIHQQQQ", *TRANSCRIPT.values()))
KEYS = {"setup": SETUP_KEY, "from_initiator": CONNECTION[:16], "from_responder": CONNECTION[16:]}

KINDS = "HELLO WELCOME CONFIRM DATA RTS CTS BODY FIN PUT GET ATOMIC ANSWER ACK NAK REFUSE PROBE PROBE_ANSWER CLOSE PIECE GONE".split()
FIELDS = "magic version kind flags payload_len to_connection from_connection from_port to_port channel rail reserved sequence ack message slot group offset length".split()
FIRST, LAST, UNRELIABLE, NOTIFY, RETRANSMIT, ACK_NOW, PADDED, IMMEDIATE, DIRECT = (1 << bit for bit in range(9))


def header(kind, payload, fields):
    """[WIRE-1.4] without the check; a field that is named may have any value."""
    values = dict.fromkeys(FIELDS, 0)
    values |= {"magic": 0x4342, "version": 1, "kind": KINDS.index(kind) + 1, "payload_len": len(payload)}
    values |= fields
    return values, struct.pack("<HBBHHIIHHHBBIIIHHQQ", *values.values())


def seal(head, payload, key):
    """[WIRE-3.1]"""
    check = siphash24(KEYS[key], head + struct.pack("<Q", nh(NH_KEY, payload)))
    return head + struct.pack("<Q", check) + payload


INITIATOR = {"to_connection": 0xB0B0B0B0, "from_connection": 0xA0A0A0A0, "from_port": 1024, "to_port": 7}
RESPONDER = {"to_connection": 0xA0A0A0A0, "from_connection": 0xB0B0B0B0, "from_port": 7, "to_port": 1024}


def setup(kind, interface=0):
    """[WIRE-2.4]"""
    t = dict(TRANSCRIPT)
    times = 0x99
    if kind == "HELLO":
        t["responder_incarnation"] = t["token"] = times = 0
    return JOB_ID + struct.pack(
        "<QQQQQIIHH4x",
        t["initiator_incarnation"], t["responder_incarnation"], t["initiator_nonce"], t["token"], times,
        t["initiator_node"], t["responder_node"], 1024, interface,
    )  # fmt: skip


def bytes_of(length):
    return bytes(at * 31 % 251 for at in range(length))


ACK_BLOCK = bytes([0b101]) + bytes(30) + b"\x80" + struct.pack("<IIIBBH", 12, 0, 1500, 1, 0, 0)
WHOLE = FIRST | LAST

# What is cut into pieces: a whole datagram, sealed.
LONG = seal(
    header("DATA", bytes_of(1400), INITIATOR | {"flags": WHOLE | RETRANSMIT, "sequence": 16, "ack": 9, "message": 13, "length": 1400})[1],
    bytes_of(1400),
    "from_initiator",
)

PACKETS = [
    ("hello", "HELLO", "setup", setup("HELLO"), INITIATOR | {"to_connection": 0}),
    ("welcome", "WELCOME", "setup", setup("WELCOME"), RESPONDER),
    ("welcome, of a port with an interface program", "WELCOME", "setup", setup("WELCOME", 1), RESPONDER),
    ("confirm", "CONFIRM", "setup", setup("CONFIRM"), INITIATOR),
    ("data, system, 8 bytes", "DATA", "from_initiator", b"8 bytes.", INITIATOR | {"flags": WHOLE, "sequence": 1, "ack": 5, "length": 8}),
    ("data, empty", "DATA", "from_initiator", b"", INITIATOR | {"flags": WHOLE, "sequence": 2, "ack": 5, "message": 1}),
    ("data, first fragment", "DATA", "from_initiator", bytes_of(1400), INITIATOR | {"flags": FIRST, "channel": 3, "sequence": 3, "ack": 5, "message": 2, "length": 1405}),
    ("data, last fragment", "DATA", "from_initiator", bytes_of(5), INITIATOR | {"flags": LAST, "channel": 3, "sequence": 4, "ack": 5, "message": 2, "offset": 1400, "length": 1405}),
    ("data, unreliable", "DATA", "from_responder", b"maybe", RESPONDER | {"flags": WHOLE | UNRELIABLE, "ack": 5, "message": 3, "length": 5}),
    ("data, with immediate data", "DATA", "from_initiator", b"8 bytes.", INITIATOR | {"flags": WHOLE | IMMEDIATE, "channel": 3, "sequence": 17, "ack": 5, "message": 14, "offset": 2**64 - 1, "length": 8}),
    ("data, first fragment with immediate data", "DATA", "from_initiator", bytes_of(1400), INITIATOR | {"flags": FIRST | IMMEDIATE, "channel": 3, "sequence": 18, "ack": 5, "message": 15, "offset": 1400, "length": 1405}),
    ("data, filler, again, on rail 1", "DATA", "from_initiator", b"", INITIATOR | {"flags": RETRANSMIT, "rail": 1, "sequence": 5, "message": 3}),
    ("data, to whose sender's program packets come directly", "DATA", "from_initiator", b"8 bytes.", INITIATOR | {"flags": WHOLE | DIRECT, "sequence": 20, "ack": 5, "message": 17, "length": 8}),
    ("rts", "RTS", "from_initiator", b"", INITIATOR | {"channel": 9, "sequence": 6, "message": 4, "length": 1 << 32}),
    ("rts, with immediate data", "RTS", "from_initiator", b"", INITIATOR | {"channel": 9, "sequence": 19, "message": 16, "offset": 1 << 63, "length": 1 << 32}),
    ("cts", "CTS", "from_responder", b"", RESPONDER | {"sequence": 7, "ack": 7, "message": 4}),
    ("body, as long as can be", "BODY", "from_initiator", bytes_of(8896), INITIATOR | {"channel": 9, "sequence": 0xFFFFFFFF, "ack": 8, "message": 4, "offset": 0xFFFF0000, "length": 1 << 32}),
    ("fin of two messages", "FIN", "from_responder", b"", RESPONDER | {"flags": ACK_NOW, "sequence": 8, "ack": 9, "message": 4, "offset": 5}),
    ("fin, truncated", "FIN", "from_responder", b"", RESPONDER | {"sequence": 9, "ack": 9, "message": 6, "offset": 4096, "length": 1}),
    ("put, only fragment", "PUT", "from_initiator", bytes_of(100), INITIATOR | {"flags": WHOLE | NOTIFY, "channel": 2, "sequence": 10, "message": 7, "slot": 63, "offset": 4096, "length": 100}),
    ("get", "GET", "from_initiator", b"", INITIATOR | {"channel": 2, "sequence": 11, "message": 8, "slot": 1, "offset": 8, "length": 40}),
    ("get, padded", "GET", "from_initiator", bytes(40), INITIATOR | {"flags": PADDED, "channel": 2, "sequence": 12, "message": 9, "slot": 2, "offset": 8, "length": 40}),
    ("atomic, fetch add", "ATOMIC", "from_initiator", struct.pack("<QQQ", 1, 5, 0), INITIATOR | {"channel": 2, "sequence": 13, "message": 10, "slot": 3, "offset": 16}),
    ("atomic, compare swap", "ATOMIC", "from_initiator", struct.pack("<QQQ", 2, 5, 6), INITIATOR | {"channel": 2, "sequence": 14, "message": 11, "slot": 4, "offset": 16}),
    ("answer of a get", "ANSWER", "from_responder", bytes_of(40), RESPONDER | {"channel": 2, "ack": 15, "message": 8, "slot": 1}),
    ("answer of an atomic", "ANSWER", "from_responder", b"", RESPONDER | {"channel": 2, "ack": 15, "message": 10, "slot": 3, "offset": 1 << 63}),
    ("answer, no window", "ANSWER", "from_responder", b"", RESPONDER | {"channel": 2, "ack": 15, "message": 7, "slot": 63, "length": 3}),
    ("ack", "ACK", "from_responder", b"", RESPONDER | {"ack": 16}),
    ("ack, of what was dropped", "ACK", "from_responder", b"", RESPONDER | {"ack": 16, "message": 19, "length": 1}),
    ("ack with gaps, refusing", "ACK", "from_responder", ACK_BLOCK, RESPONDER | {"ack": 16}),
    ("nak", "NAK", "from_responder", b"", RESPONDER | {"ack": 16, "message": 12, "length": 1}),
    ("refuse, version 2", "REFUSE", "setup", b"", RESPONDER | {"offset": 2 | 1 << 8, "length": 1}),
    ("refuse, no port", "REFUSE", "setup", b"", RESPONDER | {"from_connection": 0, "length": 3}),
    ("probe", "PROBE", "from_initiator", bytes(1336), INITIATOR | {"ack": 9, "message": 1}),
    ("probe answer", "PROBE_ANSWER", "from_responder", b"", RESPONDER | {"ack": 16, "message": 1}),
    ("close", "CLOSE", "from_initiator", b"", INITIATOR | {"sequence": 15, "ack": 9}),
    ("piece, first of two", "PIECE", "from_initiator", LONG[:1088], INITIATOR | {"ack": 9, "message": 16, "length": 1464}),
    ("piece, last of two", "PIECE", "from_initiator", LONG[1088:], INITIATOR | {"ack": 9, "message": 16, "offset": 1088, "length": 1464}),
    ("gone, by signal 9", "GONE", "from_responder", b"", RESPONDER | {"offset": 9, "length": 3}),
    ("gone, nobody knows how", "GONE", "from_responder", b"", RESPONDER | {"length": 4}),
]  # fmt: skip

ONE = INITIATOR | {"flags": WHOLE, "sequence": 1, "length": 8}
# What breaks a rule, and the field that the receiver names.
MALFORMED = [
    ("version", "DATA", b"8 bytes.", ONE | {"version": 2}),
    ("kind", "DATA", b"8 bytes.", ONE | {"kind": 0}),
    ("kind", "DATA", b"8 bytes.", ONE | {"kind": 21}),
    ("length", "DATA", b"8 bytes.", ONE | {"payload_len": 9}),
    ("length", "BODY", bytes(8897), INITIATOR | {"channel": 1, "sequence": 1, "length": 8897}),
    ("reserved", "DATA", b"8 bytes.", ONE | {"flags": WHOLE | 512}),
    ("reserved", "DATA", b"8 bytes.", ONE | {"reserved": 1}),
    ("rail", "DATA", b"8 bytes.", ONE | {"rail": 2}),
    ("group", "DATA", b"8 bytes.", ONE | {"group": 1}),
    ("from_port", "DATA", b"8 bytes.", ONE | {"from_port": 0}),
    ("to_port", "DATA", b"8 bytes.", ONE | {"to_port": 0}),
    ("sequence", "ACK", b"", RESPONDER | {"sequence": 1}),
    ("sequence", "DATA", b"8 bytes.", ONE | {"flags": WHOLE | UNRELIABLE}),
    ("slot", "DATA", b"8 bytes.", ONE | {"slot": 1}),
    ("slot", "PUT", b"8 bytes.", ONE | {"slot": 64}),
    ("flags", "RTS", b"", INITIATOR | {"flags": FIRST, "channel": 1, "length": 9}),
    ("flags", "PUT", b"8 bytes.", ONE | {"flags": UNRELIABLE, "sequence": 0}),
    ("flags", "DATA", b"8 bytes.", ONE | {"flags": FIRST}),
    ("flags", "DATA", b"8 bytes.", ONE | {"length": 9}),
    ("flags", "DATA", b"8 bytes.", ONE | {"flags": LAST | IMMEDIATE, "offset": 8}),
    ("flags", "DATA", b"", ONE | {"flags": IMMEDIATE, "length": 0}),
    ("flags", "BODY", b"8 bytes.", INITIATOR | {"flags": WHOLE | IMMEDIATE, "channel": 1, "sequence": 1, "length": 8}),
    ("offset", "DATA", b"8 bytes.", ONE | {"flags": WHOLE | IMMEDIATE, "length": 7}),
    ("length", "DATA", b"8 bytes.", ONE | {"flags": FIRST, "length": 24577}),
    ("offset", "DATA", b"8 bytes.", ONE | {"flags": LAST, "offset": 1}),
    ("offset", "BODY", b"8 bytes.", INITIATOR | {"channel": 1, "offset": 2**64 - 4, "length": 2**64 - 1}),
    ("offset", "PUT", b"8 bytes.", ONE | {"offset": 2**64 - 4}),
    ("payload", "DATA", b"", ONE | {"flags": FIRST}),
    ("payload", "HELLO", setup("HELLO")[:-1], INITIATOR | {"to_connection": 0}),
    ("to_connection", "HELLO", setup("HELLO"), INITIATOR),
    ("payload", "GET", b"8 bytes.", INITIATOR | {"length": 8}),
    ("length", "GET", b"", INITIATOR | {"length": 65537}),
    ("payload", "ATOMIC", b"8 bytes.", INITIATOR),
    ("payload", "ACK", b"8 bytes.", RESPONDER),
    ("length", "ANSWER", b"", RESPONDER | {"length": 4}),
    ("length", "FIN", b"", RESPONDER | {"length": 5}),
    ("length", "NAK", b"", RESPONDER),
    ("length", "REFUSE", b"", RESPONDER | {"length": 7}),
    ("channel", "RTS", b"", INITIATOR),
    ("payload", "CLOSE", b"8 bytes.", INITIATOR),
    ("length", "PIECE", b"8 bytes.", INITIATOR | {"length": 63}),
    ("length", "PIECE", bytes(64), INITIATOR | {"length": 8961}),
    ("offset", "PIECE", bytes(64), INITIATOR | {"offset": 8, "length": 72}),
    ("offset", "PIECE", bytes(64), INITIATOR | {"offset": 64, "length": 127}),
    ("payload", "PIECE", b"", INITIATOR | {"length": 64}),
    ("payload", "PIECE", b"8 bytes.", INITIATOR | {"length": 64}),
    ("length", "GONE", b"", RESPONDER),
    ("length", "GONE", b"", RESPONDER | {"length": 5}),
    ("offset", "GONE", b"", RESPONDER | {"offset": 256, "length": 2}),
    ("payload", "GONE", b"8 bytes.", RESPONDER | {"length": 1}),
]  # fmt: skip


def packets():
    rows = []
    for name, kind, key, payload, fields in PACKETS:
        values, head = header(kind, payload, fields)
        rows.append({"name": name, "key": key, "kind": kind, "fields": values, "datagram": seal(head, payload, key).hex()})
    keys = {name: key.hex() for name, key in KEYS.items()} | {"nh": hashlib.sha256(NH_KEY).hexdigest(), "id": JOB_ID.hex()}
    return {"job_key": JOB_KEY.hex(), "secret": SECRET.hex(), "transcript": TRANSCRIPT, "keys": keys, "packets": rows}


def malformed():
    rows = []
    for broken, kind, payload, fields in MALFORMED:
        _, head = header(kind, payload, fields)
        rows.append({"broken": broken, "kind": kind, "datagram": seal(head, payload, "from_initiator").hex()})
    return rows


def siphashes():
    count = bytes(range(64))
    return [{"key": count[:16].hex(), "input": count[:n].hex(), "hash": f"{siphash24(count[:16], count[:n]):016x}"} for n in range(0, 65, 8)]


def nhs():
    rows = [("wire", NH_KEY[: length + -length % 8], bytes_of(length)) for length in (0, 1, 7, 8, 9, 127, 128, 129, 1400, 8896)]
    rows += [(f"RFC 4418, {name}", *umac_nh_input(message)) for name, message in UMAC_MESSAGES.items()]
    return [{"from": origin, "key": key.hex(), "input": data.hex(), "hash": f"{nh(key, data):016x}"} for origin, key, data in rows]


# The messages and 32-bit tags of RFC 4418, appendix, that are one block of NH.
UMAC_MESSAGES = {"empty": b"", "'a' * 3": b"a" * 3, "'a' * 2^10": b"a" * 1024}
UMAC_TAGS = {"empty": "113145fb", "'a' * 3": "3b91d102", "'a' * 2^10": "599b350b"}


def umac_nh_input(message):
    """Key and message of UMAC's NH. It pairs words that lie four apart where ours pairs neighbours."""
    message += bytes(-len(message) % 32 if message else 32)
    key = b"".join(word[::-1] for word in words(UMAC_L1_KEY[: len(message)]))
    return neighbours(key), neighbours(message)


def words(data):
    return [data[at : at + 4] for at in range(0, len(data), 4)]


def neighbours(data):
    w = words(data)
    return b"".join(w[block + at] for block in range(0, len(w), 8) for at in (0, 4, 1, 5, 2, 6, 3, 7))


def umac32(message):
    """RFC 4418 in full, for messages of one block: proves that the NH in it is right."""
    nonce = b"bcdefghi"
    key = kdf(0, 16)
    pad_block = aes(key, nonce[:-1] + bytes([nonce[-1] & 0xFC]) + bytes(8))
    pad = pad_block[4 * (nonce[-1] & 3) :][:4]
    hashed = (nh(*umac_nh_input(message)) + 8 * len(message)) % 2**64
    block = bytes(8) + struct.pack(">Q", hashed)
    l3_1, l3_2 = kdf(3, 64), kdf(4, 4)
    prime = 2**36 - 5
    total = sum(m * (k % prime) for (m,), (k,) in zip(struct.iter_unpack(">H", block), struct.iter_unpack(">Q", l3_1)))
    tag = struct.pack(">I", total % prime % 2**32)
    return bytes(a ^ b ^ c for a, b, c in zip(tag, l3_2, pad)).hex()


def kdf(index, length):
    blocks = (aes(b"abcdefghijklmnop", struct.pack(">QQ", index, n)) for n in range(1, length // 16 + 2))
    return b"".join(blocks)[:length]


def aes(key, block):
    command = ["openssl", "enc", "-aes-128-ecb", "-nopad", "-K", key.hex()]
    return subprocess.run(command, input=block, stdout=subprocess.PIPE, check=True).stdout


def write(name, rows):
    (HERE / name).write_text(json.dumps(rows, indent=1) + "\n")


UMAC_L1_KEY = kdf(1, 1024)
for name, message in UMAC_MESSAGES.items():
    assert umac32(message) == UMAC_TAGS[name], f"UMAC of {name}: {umac32(message)}"
write("nh.json", nhs())
write("siphash.json", siphashes())
write("packets.json", packets())
write("malformed.json", malformed())
