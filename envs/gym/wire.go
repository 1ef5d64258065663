package gym

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A message has a header of 8 bytes (the body's length, one byte that says what it is, the tag) and a body.
const (
	headerSize = 8
	tag        = "gym"
	// maxMessage is the size that no message of one worker has, 256 MiB: more is not the bridge's.
	maxMessage = 1 << 28
)

// The kinds of messages. Requests:
const (
	askInit     = 'I'
	askStep     = 'S'
	askReset    = 'R'
	askSnapshot = 'P'
	askRestore  = 'L'
	askBranch   = 'K'
	askCopy     = 'C'
	askEndCopy  = 'X' // answered as askCopy is
	askRender   = 'F'
	askPolicy   = 'A'
)

// Answers have the kind of their request where no other is listed.
const (
	tellBatch        = 'B' // to a step
	tellObservations = 'O' // to a reset or restore
	tellError        = 'E'
)

// errGarbage means that what came is no message.
var errGarbage = errors.New("it wrote something that is no message of the bridge")

// appendHeader appends the header of a message with a body of n bytes.
func appendHeader(b []byte, kind byte, n int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = append(b, kind)
	return append(b, tag...)
}

// jsonMessage makes a message whose body is JSON.
func jsonMessage(kind byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(appendHeader(nil, kind, len(text)), text...), nil
}

// reader reads messages into a buffer of its own.
type reader struct {
	r   io.Reader
	buf []byte
}

// next returns the next message's kind and body. The body is valid until the next call.
func (r *reader) next() (kind byte, body []byte, err error) {
	if len(r.buf) < 1<<12 {
		r.buf = make([]byte, 1<<12)
	}
	have, err := io.ReadAtLeast(r.r, r.buf, headerSize)
	if err != nil {
		if have > 0 {
			return 0, nil, fmt.Errorf("%w: %.60q", errGarbage, r.buf[:have])
		}
		return 0, nil, err
	}
	if string(r.buf[5:headerSize]) != tag {
		return 0, nil, fmt.Errorf("%w: %.60q", errGarbage, r.buf[:have])
	}
	n := int(binary.LittleEndian.Uint32(r.buf))
	if n > maxMessage {
		return 0, nil, fmt.Errorf("%w: a length of %d bytes", errGarbage, n)
	}
	if headerSize+n > len(r.buf) {
		grown := make([]byte, headerSize+n)
		copy(grown, r.buf[:have])
		r.buf = grown
	}
	if have > headerSize+n {
		return 0, nil, fmt.Errorf("%w: %d bytes after a message", errGarbage, have-headerSize-n)
	}
	if _, err := io.ReadFull(r.r, r.buf[have:headerSize+n]); err != nil {
		return 0, nil, fmt.Errorf("the message breaks off: %w", errors.Join(io.ErrUnexpectedEOF, err))
	}
	return r.buf[4], r.buf[headerSize : headerSize+n], nil
}

// splitText divides a body of the form length, JSON, rest, and decodes the JSON.
func splitText(body []byte, v any) (rest []byte, err error) {
	if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
		return nil, fmt.Errorf("%w: a text longer than its message", errGarbage)
	}
	n := 4 + int(binary.LittleEndian.Uint32(body))
	if err := json.Unmarshal(body[4:n], v); err != nil {
		return nil, fmt.Errorf("%w: %w", errGarbage, err)
	}
	return body[n:], nil
}
