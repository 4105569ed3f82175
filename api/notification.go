package api

// Limits of addresses and channels.
const (
	// MaxAddresses bounds the addresses of one person.
	MaxAddresses = 16
	// MaxAddressLength bounds one address.
	MaxAddressLength = 254
	// MaxRecipients bounds whom one request is told to.
	MaxRecipients = 100
	// AddressCodeMs is how long the code of an address works, AddressCodeTries how often it may be tried,
	// and AddressCodePauseMs how long the next one takes.
	AddressCodeMs      = 900_000
	AddressCodeTries   = 5
	AddressCodePauseMs = 60_000
	// FloodMs is the time in which a person gets at most FloodMessages messages about single requests. One more
	// message counts the others.
	FloodMs       = 600_000
	FloodMessages = 5
)

// AddressBody adds an address of the caller.
type AddressBody struct {
	// Channel is one of those that the service has.
	Channel string `json:"channel" body:"required"`
	// Address is what the channel takes: of e-mail the address of a mailbox.
	Address string `json:"address" body:"required"`
}

// VerifyAddressBody shows that the caller has read what was sent to an address.
type VerifyAddressBody struct {
	Code string `json:"code" body:"required"`
}

// Address is where a person is told of what they may decide.
type Address struct {
	AddressID    string `json:"address_id"`
	Channel      string `json:"channel"`
	Address      string `json:"address"`
	VerifiedAtMs int64  `json:"verified_at_ms,omitzero"` // absent until the code was typed
	CreatedAtMs  int64  `json:"created_at_ms"`
}

// AddressList has all addresses of the caller.
type AddressList struct {
	Data []Address `json:"data"`
}

// ChannelKind says how a channel sends.
type ChannelKind string

// The kinds of channels.
const (
	ChannelEmail ChannelKind = "email"
	ChannelHTTP  ChannelKind = "http"
)

// Channel is a way in which people are told.
type Channel struct {
	Name string      `json:"name"`
	Kind ChannelKind `json:"kind"`
	// Pending counts the messages that are not sent yet, Failed those that were given up.
	Pending int64 `json:"pending"`
	Failed  int64 `json:"failed"`
	// LastError is why one of those failed.
	LastError string `json:"last_error,omitempty"`
}

// ChannelList has all channels.
type ChannelList struct {
	Data []Channel `json:"data"`
}

// TestChannelBody sends a test message.
type TestChannelBody struct {
	Address string `json:"address" body:"required"`
}

// ChannelTest says what became of a test message.
type ChannelTest struct {
	Delivered bool   `json:"delivered"`
	Error     string `json:"error,omitempty"`
}
