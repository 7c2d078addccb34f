-- Shows packets of BCL (spec/wire.md) in Wireshark and tshark:
--
--     tshark -X lua_script:/usr/local/share/bcl/bcl.lua -r capture.pcap -Y bcl
--     ln -s /usr/local/share/bcl/bcl.lua ~/.local/lib/wireshark/plugins/    # from then on, in both
--
-- The check is shown, not compared: `bcl trace --file` compares it.

local HEADER_LEN = 64
local MAGIC = 0x4342
local VERSION = 1
local FIRST_UDP_PORT, LAST_UDP_PORT = 20001, 28191

local KINDS = {
    [1] = "HELLO", [2] = "WELCOME", [3] = "CONFIRM", [4] = "DATA", [5] = "RTS", [6] = "CTS", [7] = "BODY",
    [8] = "FIN", [9] = "PUT", [10] = "GET", [11] = "ATOMIC", [12] = "ANSWER", [13] = "ACK", [14] = "NAK",
    [15] = "REFUSE", [16] = "PROBE", [17] = "PROBE_ANSWER", [18] = "CLOSE",
    [19] = "PIECE", [20] = "GONE",
}

-- What the field `length` means where it is a code, by kind.
local CODES = {
    FIN = { [0] = "ok", [1] = "truncated", [2] = "canceled", [3] = "fault", [4] = "no memory" },
    ANSWER = { [0] = "ok", [1] = "denied", [2] = "range", [3] = "no window" },
    NAK = { [1] = "system busy", [2] = "normal busy" },
    REFUSE = {
        [1] = "version", [2] = "key", [3] = "no port", [4] = "stale", [5] = "not allowed", [6] = "full",
    },
    GONE = { [1] = "closed", [2] = "exited", [3] = "killed", [4] = "unknown" },
}

local bcl = Proto("bcl", "Basic Communication Library")

-- The header: name, title, type, base, offset, bytes.
local HEADER = {
    { "magic", "Magic", "uint16", base.HEX, 0, 2 },
    { "version", "Version", "uint8", base.DEC, 2, 1 },
    { "kind", "Kind", "uint8", base.DEC, 3, 1, KINDS },
    { "flags", "Flags", "uint16", base.HEX, 4, 2 },
    { "payload_len", "Payload length", "uint16", base.DEC, 6, 2 },
    { "to_connection", "To connection", "uint32", base.HEX, 8, 4 },
    { "from_connection", "From connection", "uint32", base.HEX, 12, 4 },
    { "from_port", "From port", "uint16", base.DEC, 16, 2 },
    { "to_port", "To port", "uint16", base.DEC, 18, 2 },
    { "channel", "Channel or window", "uint16", base.DEC, 20, 2 },
    { "rail", "Rail", "uint8", base.DEC, 22, 1 },
    { "sequence", "Sequence", "uint32", base.DEC, 24, 4 },
    { "ack", "Acknowledged before", "uint32", base.DEC, 28, 4 },
    { "message", "Message or operation", "uint32", base.DEC, 32, 4 },
    { "slot", "Slot", "uint16", base.DEC, 36, 2 },
    { "group", "Group", "uint16", base.DEC, 38, 2 },
    { "offset", "Offset", "uint64", base.DEC, 40, 8 },
    { "length", "Length or code", "uint64", base.DEC, 48, 8 },
    { "check", "Check", "uint64", base.HEX, 56, 8 },
}

local SETUP = {
    { "job_id", "Job", "uint64", base.HEX, 0, 8 },
    { "initiator_incarnation", "Initiator's incarnation", "uint64", base.HEX, 8, 8 },
    { "responder_incarnation", "Responder's incarnation", "uint64", base.HEX, 16, 8 },
    { "initiator_nonce", "Initiator's nonce", "uint64", base.HEX, 24, 8 },
    { "token", "Token", "uint64", base.HEX, 32, 8 },
    { "token_time", "Time of the token", "uint64", base.DEC, 40, 8 },
    { "initiator_node", "Initiator's node", "uint32", base.HEX, 48, 4 },
    { "responder_node", "Responder's node", "uint32", base.HEX, 52, 4 },
    { "window", "Window in packets", "uint16", base.DEC, 56, 2 },
}

local ACK = {
    { "selective", "Taken beyond", "bytes", base.NONE, 0, 32 },
    { "refusing_system_from", "System messages refused from", "uint32", base.DEC, 32, 4 },
    { "refusing_normal_from", "Normal messages refused from", "uint32", base.DEC, 36, 4 },
    { "delay_ns", "Held for (ns)", "uint32", base.DEC, 40, 4 },
    { "refusing_system", "Refusing system messages", "uint8", base.DEC, 44, 1 },
    { "refusing_normal", "Refusing normal messages", "uint8", base.DEC, 45, 1 },
}

local ATOMIC = {
    { "atomic", "Operation", "uint64", base.DEC, 0, 8 },
    { "operand", "Added, or expected", "uint64", base.DEC, 8, 8 },
    { "new", "Stored", "uint64", base.DEC, 16, 8 },
}

local PAYLOADS = {
    HELLO = { 64, SETUP }, WELCOME = { 64, SETUP }, CONFIRM = { 64, SETUP },
    ACK = { 48, ACK }, ATOMIC = { 24, ATOMIC },
}

local FLAGS = {
    { "FIRST", 1 }, { "LAST", 2 }, { "UNRELIABLE", 4 }, { "NOTIFY", 8 }, { "RETRANSMIT", 16 }, { "ACK_NOW", 32 },
    { "PADDED", 64 },
    { "IMMEDIATE", 128 },
    { "DIRECT", 256 },
}

local fields, list = {}, {}

local function declare(name, field)
    fields[name] = field
    table.insert(list, field)
end

for _, layout in ipairs({ HEADER, SETUP, ACK, ATOMIC }) do
    for _, row in ipairs(layout) do
        local name, title, kind, number_base, _, _, values = table.unpack(row, 1, 7)
        if kind == "bytes" then
            declare(name, ProtoField.bytes("bcl." .. name, title))
        else
            declare(name, ProtoField[kind]("bcl." .. name, title, number_base, values))
        end
    end
end
for _, row in ipairs(FLAGS) do
    local name, bit = row[1], row[2]
    declare(name, ProtoField.bool("bcl.flags." .. name:lower(), name, 16, nil, bit))
end
declare("code", ProtoField.string("bcl.code", "Code"))
declare("payload", ProtoField.bytes("bcl.payload", "Payload"))
bcl.fields = list

local malformed = ProtoExpert.new("bcl.malformed", "Malformed packet", expert.group.MALFORMED, expert.severity.ERROR)
bcl.experts = { malformed }

local function add_rows(tree, tvb, layout)
    local flags_item
    for _, row in ipairs(layout) do
        local item = tree:add_le(fields[row[1]], tvb(row[5], row[6]))
        if row[1] == "flags" then
            flags_item = item
        end
    end
    return flags_item
end

-- Shows one packet, and returns what is said of it in a line.
local function show(tvb, tree)
    local number = tvb(3, 1):uint()
    local kind = KINDS[number] or ("kind " .. number)
    local item = tree:add(bcl, tvb(), "BCL " .. kind)
    local flags = add_rows(item, tvb, HEADER)
    for _, row in ipairs(FLAGS) do
        flags:add_le(fields[row[1]], tvb(4, 2))
    end
    local code = CODES[kind] and CODES[kind][tvb(48, 8):le_uint64():tonumber()]
    if code then
        item:add(fields.code, tvb(48, 8), code):set_generated()
    end
    local len = tvb:len() - HEADER_LEN
    if len ~= tvb(6, 2):le_uint() or not KINDS[number] then
        item:add_proto_expert_info(malformed)
    end
    local form = PAYLOADS[kind]
    if form and form[1] == len then
        add_rows(item, tvb(HEADER_LEN), form[2])
    elseif len > 0 then
        item:add(fields.payload, tvb(HEADER_LEN))
    end
    local ports = string.format("%d > %d", tvb(16, 2):le_uint(), tvb(18, 2):le_uint())
    return string.format("%s %s seq=%d ack=%d len=%d%s", kind, ports, tvb(24, 4):le_uint(), tvb(28, 4):le_uint(), len,
        code and " " .. code or "")
end

local function is_packet(tvb, at)
    return tvb:len() >= at + HEADER_LEN and tvb(at, 2):le_uint() == MAGIC and tvb(at + 2, 1):uint() == VERSION
end

-- A kernel that has put segments together, or has not taken them apart yet, shows several packets as one datagram.
function bcl.dissector(tvb, pinfo, tree)
    if not is_packet(tvb, 0) then
        return 0
    end
    local at, lines = 0, {}
    while is_packet(tvb, at) do
        local next_at = at + HEADER_LEN + tvb(at + 6, 2):le_uint()
        if not is_packet(tvb, next_at) then
            next_at = tvb:len()
        end
        table.insert(lines, show(tvb(at, next_at - at):tvb(), tree))
        at = next_at
    end
    pinfo.cols.protocol = "BCL"
    pinfo.cols.info = table.concat(lines, "; ")
    return tvb:len()
end

local function is_ours(port)
    return port >= FIRST_UDP_PORT and port <= LAST_UDP_PORT
end

-- Others may use the same UDP ports: what does not look like a packet is left to them.
bcl:register_heuristic("udp", function(tvb, pinfo, tree)
    if not (is_ours(pinfo.src_port) or is_ours(pinfo.dst_port)) or not is_packet(tvb, 0) then
        return false
    end
    bcl.dissector(tvb, pinfo, tree)
    return true
end)
DissectorTable.get("udp.port"):add_for_decode_as(bcl)
