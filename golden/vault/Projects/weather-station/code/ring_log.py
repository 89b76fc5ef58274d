"""Ring of 16-byte records for an EEPROM/FRAM chip, readable after power loss.

Record layout, little endian:
    u32 sequence | u32 unix time | i16 centi-degrees | u16 centi-percent
    u16 pressure in 0.1 hPa | u16 CRC-16/CCITT-FALSE of the first 14 bytes
"""

import struct

RECORD = struct.Struct("<IIhHHH")
RECORD_SIZE = RECORD.size


def crc16_ccitt(data, crc=0xFFFF):
    """CRC-16/CCITT-FALSE: polynomial 0x1021, no reflection, no final xor."""
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021) & 0xFFFF if crc & 0x8000 else (crc << 1) & 0xFFFF
    return crc


def pack_record(sequence, when, celsius, humidity, pressure_hpa):
    """Return the 16 bytes of one record."""
    body = RECORD.pack(sequence, when, round(celsius * 100),
                       round(humidity * 100), round(pressure_hpa * 10), 0)[:14]
    return body + struct.pack("<H", crc16_ccitt(body))


def unpack_record(blob):
    """Return the five values, or None if the check sum is wrong."""
    sequence, when, centi_c, centi_rh, deci_hpa, crc = RECORD.unpack(blob)
    if crc != crc16_ccitt(blob[:14]):
        return None
    return sequence, when, centi_c / 100, centi_rh / 100, deci_hpa / 10


class RingLog:
    """Fixed number of slots on any mutable byte buffer."""

    def __init__(self, memory):
        self.memory = memory
        self.slots = len(memory) // RECORD_SIZE
        self.sequence = self._newest() + 1

    def _newest(self):
        """Highest valid sequence number, or -1 for an empty chip."""
        found = [rec[0] for rec in self._valid()]
        return max(found, default=-1)

    def _valid(self):
        for slot in range(self.slots):
            start = slot * RECORD_SIZE
            record = unpack_record(bytes(self.memory[start:start + RECORD_SIZE]))
            if record is not None and record[0] % self.slots == slot:
                yield record

    def append(self, when, celsius, humidity, pressure_hpa):
        """Overwrite the oldest slot; the slot is sequence modulo slots."""
        start = (self.sequence % self.slots) * RECORD_SIZE
        self.memory[start:start + RECORD_SIZE] = pack_record(
            self.sequence, when, celsius, humidity, pressure_hpa)
        self.sequence += 1

    def history(self):
        """All valid records, oldest first."""
        return sorted(self._valid())


if __name__ == "__main__":
    chip = bytearray(b"\xff" * 32768)
    log = RingLog(chip)
    for k in range(2100):
        log.append(1_790_000_000 + 300 * k, 12.34, 71.5, 968.4)
    print(log.slots, len(log.history()), log.history()[0][0])
    chip[16 * 5 + 3] ^= 0x40
    again = RingLog(chip)
    print(len(again.history()), again.sequence, hex(crc16_ccitt(b"123456789")))
