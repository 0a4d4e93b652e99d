"""Changes to valid files: of bytes, of lines and numbers, of JSON values, of trace records.

All are functions of a random.Random; `mutated` chooses by the file's name.
"""
import json
import re
import struct

EXTREMES = ["0", "-1", "1", "2", "255", "256", "65535", "65536", "1048576", "2147483647",
            "2147483648", "4294967295", "4294967296", "9223372036854775807",
            "9223372036854775808", "18446744073709551615", "18446744073709551616",
            "99999999999999999999999999", "1e308", "1e-308", "1e999", "-0", "0.5", "nan", "inf",
            "-inf", ".inf", "0x7fffffff", "1e18", "007", ""]
UNITS = ["B", "KiB", "GB", "PB", "GB/s", "B/s", "ps", "us", "s", "h", "TFLOP/s", "parsec"]
WORDS = [": ", "\n", "\n  ", "- ", "[", "]", "{", "}", "(", ")", "<", ">", "->", "&a ", "*a",
         "!!int ", "---\n", "#", "|", "'", '"', "\\", "? ", "<<: ", "~", "null", "true", "\t",
         "\0", "\x1b[31m", "\x7f", "\ufeff", "\u202e", "\xff", "/dev/null", "/dev/zero", "..",
         "/proc/self/mem", "//", "/*", "*/", "d0 s0", "[0-7]", "[7-0]", "s0", "random", "packet",
         "ring", "torus", "rank 0 {", "requires ", "irequires ", "tensor<", "dense<", "x0x", "%0",
         "call @main", "while(", "NONE", "ALLREDUCE", "\"data_deps\": [1]", "\"comm_size\"",
         "x" * 5000, "[" * 300, "{a: " * 300, "\u00e9" * 2000]
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")
QUANTITY = re.compile(rb"(\d+(?:\.\d+)?) ?([A-Za-z]+(?:/s)?)\b")


def at(random, data):
    return random.randrange(len(data) + 1)


def span(random, data):
    begin = at(random, data)
    return begin, min(len(data), begin + random.choice([1, 2, 4, 8, 16, 64, 256]))


def replace_match(random, data, pattern, replacement):
    found = list(pattern.finditer(data))
    if not found:
        return data
    match = random.choice(found)
    return data[:match.start()] + replacement(match) + data[match.end():]


def swap_number(random, data, _):
    return replace_match(random, data, NUMBER, lambda _: random.choice(EXTREMES).encode())


def swap_unit(random, data, _):
    return replace_match(random, data, QUANTITY, lambda match: match[1] + b" "
                         + random.choice(UNITS).encode())


def delete_line(random, data, _):
    lines = data.splitlines(keepends=True)
    if lines:
        del lines[random.randrange(len(lines))]
    return b"".join(lines)


def repeat_line(random, data, _):
    lines = data.splitlines(keepends=True)
    if lines:
        where = random.randrange(len(lines))
        lines[where:where] = [lines[where]] * random.choice([1, 1, 2, 100])
    return b"".join(lines)


def swap_lines(random, data, _):
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        first, second = random.sample(range(len(lines)), 2)
        lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def indent_line(random, data, _):
    lines = data.splitlines(keepends=True)
    if lines:
        where = random.randrange(len(lines))
        lines[where] = random.choice([b"  " + lines[where], lines[where].lstrip()])
    return b"".join(lines)


def delete_key(random, data, _):
    """Of `{a: 1, b: 2}` or a line of its own."""
    return replace_match(random, data, re.compile(rb"[\w\"-]+: ?[^,{}\n]*,?"), lambda _: b"")


def rename_key(random, data, _):
    return replace_match(random, data, re.compile(rb"(\w+)(\"?:)"),
                         lambda match: match[1][1:] + match[2])


def insert_word(random, data, _):
    where = at(random, data)
    return data[:where] + random.choice(WORDS).encode() + data[where:]


def delete_span(random, data, _):
    begin, end = span(random, data)
    return data[:begin] + data[end:]


def repeat_span(random, data, _):
    begin, end = span(random, data)
    return data[:begin] + data[begin:end] * random.choice([2, 2, 3, 200]) + data[end:]


def truncate(random, data, _):
    return data[:at(random, data)]


def flip_byte(random, data, _):
    if not data:
        return data
    where = random.randrange(len(data))
    return data[:where] + bytes([data[where] ^ (1 << random.randrange(8))]) + data[where + 1:]


def splice(random, data, donor):
    return data[:at(random, data)] + donor[at(random, donor):]


def set_word(random, data, _):
    """An integer of 1 to 8 bytes at a multiple of its size."""
    size, letter = random.choice([(1, "B"), (2, "H"), (4, "I"), (4, "I"), (8, "Q")])
    if len(data) < size:
        return data
    where = random.randrange(len(data) // size) * size
    top = 1 << (8 * size)
    value = random.choice([0, 1, 2, 7, top // 2 - 1, top // 2, top - 1, top - 2,
                           random.randrange(top), random.randrange(256)])
    return data[:where] + struct.pack("<" + letter, value % top) + data[where + size:]


def add_to_word(random, data, _):
    """Off by a little: what index and count checks have to see."""
    if len(data) < 2:
        return data
    where = random.randrange(len(data) // 2) * 2
    value = int.from_bytes(data[where:where + 2], "little") + random.choice([-2, -1, 1, 2, 8])
    return data[:where] + (value & 65535).to_bytes(2, "little") + data[where + 2:]


def records_of(data):
    """The records of a trace: each a varint length and that many bytes."""
    records, where = [], 0
    while where < len(data):
        length = shift = 0
        begin = where
        while where < len(data):
            length |= (data[where] & 127) << shift
            where, shift, last = where + 1, shift + 7, data[where] < 128
            if last:
                break
        where += length
        records.append(data[begin:where])
    return records


def change_records(random, data, donor):
    records = records_of(data)
    other = records_of(donor) or [b""]
    where = random.randrange(len(records) + 1)
    how = random.randrange(4)
    if how == 0:
        del records[where:where + 1]
    elif how == 1:
        records[where:where] = records[where:where + 1] * random.choice([1, 2, 50])
    elif how == 2:
        records.insert(where, random.choice(other))
    else:
        random.shuffle(records)
    return b"".join(records)


def places(value, path=()):
    """Every place in a JSON value: paths of keys and indices."""
    yield path
    items = (value.items() if isinstance(value, dict)
             else enumerate(value) if isinstance(value, list) else [])
    for key, item in items:
        yield from places(item, (*path, key))


def change_json(random, data, _):
    """Another value, no value, or the same twice, somewhere; a line is a document where the whole
    is none."""
    lines = [data]
    try:
        json.loads(data)
    except ValueError:
        lines = data.splitlines()
    if not lines:
        return data
    which = random.randrange(len(lines))
    try:
        root = [json.loads(lines[which])]
    except ValueError:
        return data
    path = random.choice([path for path in places(root) if path])
    holder = root
    for key in path[:-1]:
        holder = holder[key]
    how = random.randrange(6)
    if how == 0 and len(path) > 1:
        del holder[path[-1]]
    elif how == 1 and isinstance(holder, list):
        holder.extend([holder[path[-1]]] * random.choice([1, 2, 100]))
    else:
        number = random.choice([0, -1, 1, 1.5, 2**31, 2**32, 2**53, 2**63, 2**64, 1e308, -1e-300])
        holder[path[-1]] = random.choice(
            [number, number, number, str(number), None, True, [], {}, [number], {"a": number},
             "", "\x1b[2J", "x" * 5000])
    lines[which] = json.dumps(root[0] if root else None).encode()
    return b"\n".join(lines)


BYTES = [delete_span, repeat_span, truncate, flip_byte, splice]
TEXT = [*BYTES, insert_word, insert_word, swap_number, swap_number, swap_number, swap_number,
        swap_unit, delete_line, repeat_line, swap_lines, indent_line, delete_key, rename_key]
OF_SUFFIX = {
    "xwg": [*BYTES, set_word, set_word, set_word, add_to_word, add_to_word, add_to_word],
    "bin": [*BYTES, set_word, set_word, set_word, add_to_word, add_to_word],
    "et": [*BYTES, set_word, change_records, change_records],
    "json": [*TEXT, *[change_json] * 12],
}


def mutated(random, name, data, donor):
    """One to four changes; `donor` is another valid file of the kind."""
    ways = OF_SUFFIX.get(name.rsplit(".", 1)[-1], TEXT)
    for _ in range(random.choice([1, 1, 1, 2, 2, 4])):
        data = random.choice(ways)(random, data, donor)
    return data
