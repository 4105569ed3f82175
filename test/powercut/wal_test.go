//go:build unix && faults

package powercut

import (
	"bytes"
	"encoding/binary"
)

// The format of SQLite's log (https://www.sqlite.org/fileformat2.html#walformat): a header,
// then frames with a header and a page each. The checksum of a frame continues from the
// previous frame. A frame is valid if its salt is the log's and its checksum is right, and
// if it is or precedes a commit frame.
const (
	walHeaderSize      = 32
	walFrameHeaderSize = 24
)

// sameLog says whether two readings are of one log that has only grown in between.
func sameLog(earlier, later []byte) bool {
	return len(earlier) >= walHeaderSize && len(later) >= walHeaderSize &&
		bytes.Equal(earlier[:walHeaderSize], later[:walHeaderSize])
}

// committed returns where the last commit of a log ends; what follows does not count.
func committed(log []byte) int {
	var order binary.ByteOrder = binary.LittleEndian
	if binary.BigEndian.Uint32(log)&1 != 0 {
		order = binary.BigEndian
	}
	pageSize := int(binary.BigEndian.Uint32(log[8:]))
	salt := log[16:24]
	sum := walChecksum(order, [2]uint32{}, log[:24])
	end := walHeaderSize
	for at := walHeaderSize; at+walFrameHeaderSize+pageSize <= len(log); at += walFrameHeaderSize + pageSize {
		frame := log[at : at+walFrameHeaderSize+pageSize]
		sum = walChecksum(order, sum, frame[:8])
		sum = walChecksum(order, sum, frame[walFrameHeaderSize:])
		right := binary.BigEndian.Uint32(frame[16:]) == sum[0] && binary.BigEndian.Uint32(frame[20:]) == sum[1]
		if !bytes.Equal(frame[8:16], salt) || !right {
			break
		}
		if pages := binary.BigEndian.Uint32(frame[4:]); pages != 0 {
			end = at + len(frame)
		}
	}
	return end
}

func walChecksum(order binary.ByteOrder, sum [2]uint32, data []byte) [2]uint32 {
	for ; len(data) >= 8; data = data[8:] {
		sum[0] += order.Uint32(data) + sum[1]
		sum[1] += order.Uint32(data[4:]) + sum[0]
	}
	return sum
}
