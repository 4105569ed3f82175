package api

// Limits of addresses and channels.
const (
	// MaxAddresses is the maximum number of addresses of a person.
	MaxAddresses = 16
	// MaxAddedAddresses is how many addresses a person may have after an admin has added one.
	MaxAddedAddresses = 8
	// MaxAddressLength is the maximum length of an address.
	MaxAddressLength = 254
	// MaxRecipients is the maximum number of people notified of one request.
	MaxRecipients = 100
	// MaxNotReached is the maximum number of people and selectors that an explanation lists as not reached.
	MaxNotReached = 20
	// AddressCodeMs is how long the code of an address is valid, AddressCodeTries how often it may
	// be tried, and AddressCodePauseMs how long another code to the same destination must wait.
	AddressCodeMs      = 900_000
	AddressCodeTries   = 5
	AddressCodePauseMs = 60_000
	// AddressCodesOfDestination and AddressCodesOfPerson limit the codes within AddressCodeWindowMs
	// to one destination, by all people together, and of one person. Removed addresses count. A person who has had no
	// code sent to a destination may have one, however many others had.
	AddressCodesOfDestination = 5
	AddressCodesOfPerson      = 32
	AddressCodeWindowMs       = 86_400_000
	// FloodMs is the period in which a person gets at most FloodMessages messages about single
	// requests. One more message then counts the remaining requests.
	FloodMs       = 600_000
	FloodMessages = 5
	// LinkMs is how long the link in a message works, and LinkCodeTries how many wrong codes it takes.
	// LinkCodeTriesOfPerson limits the wrong codes of all links of a person within LinkMs.
	LinkMs                = 259_200_000
	LinkCodeTries         = 5
	LinkCodeTriesOfPerson = 20
	// PushChannel is the name of the channel that sends to browsers (Web Push). Services with a push
	// key have it without configuration.
	PushChannel = "push"
	// MaxPushEndpoint is the maximum length of the URL at which a browser gets messages.
	MaxPushEndpoint = 1024
)

// AddressBody adds an address of the caller, or of another person.
type AddressBody struct {
	// Channel is the name of a configured channel.
	Channel string `json:"channel" body:"required"`
	// Address is in the channel's format, for example an e-mail address.
	Address string `json:"address" body:"required"`
	// Principal is the person whose address it is; the caller if empty. Only an admin may add one for another person,
	// who verifies it.
	Principal string `json:"principal,omitempty" body:"filled"`
}

// PushBody subscribes a browser of the caller. It is the JSON of a PushSubscription of the Push API,
// whose other members are ignored.
type PushBody struct {
	// Endpoint is the URL of the browser's push service, at most MaxPushEndpoint bytes.
	Endpoint string   `json:"endpoint" body:"required"`
	Keys     PushKeys `json:"keys" body:"required"`
}

// PushKeys encrypt the messages to a browser.
type PushKeys struct {
	// P256dh is the browser's public key: 65 bytes in base64url.
	P256dh string `json:"p256dh" body:"required"`
	// Auth is a secret of 16 bytes in base64url.
	Auth string `json:"auth" body:"required"`
}

// PushView says how browsers subscribe, and which of the caller's have done so.
type PushView struct {
	// PublicKey is the applicationServerKey of subscriptions. It is absent if the service cannot send
	// to browsers.
	PublicKey string `json:"public_key,omitempty"`
	// Data lists the caller's browsers, oldest first. Their Address is the endpoint.
	Data []Address `json:"data"`
}

// VerifyAddressBody proves that the caller has received the code sent to an address.
type VerifyAddressBody struct {
	Code string `json:"code" body:"required"`
}

// Address is where a person is notified of requests that they may decide.
type Address struct {
	AddressID    string `json:"address_id"`
	Channel      string `json:"channel"`
	Address      string `json:"address"`
	VerifiedAtMs int64  `json:"verified_at_ms,omitzero"` // absent until verified
	CreatedAtMs  int64  `json:"created_at_ms"`
}

// AddressList lists all addresses of the caller.
type AddressList struct {
	Data []Address `json:"data"`
	// Channels are those to which the caller can add an address.
	Channels []AddressChannel `json:"channels"`
}

// AddressChannel is a channel that sends to addresses.
type AddressChannel struct {
	Name string      `json:"name"`
	Kind ChannelKind `json:"kind"`
}

// ChannelKind is the way a channel sends messages.
type ChannelKind string

// The kinds of channels.
const (
	ChannelEmail ChannelKind = "email"
	ChannelHTTP  ChannelKind = "http"
	ChannelPush  ChannelKind = "push"
	ChannelSlack ChannelKind = "slack"
)

// LinkMode says what the link in a channel's messages leads to.
type LinkMode string

// The modes of links.
const (
	// LinkSignIn leads to the request in the inbox, under the reader's own sign-in.
	LinkSignIn LinkMode = "sign_in"
	// LinkCode also lets the person of the message decide without a sign-in, after typing the code that
	// is printed next to the link.
	LinkCode LinkMode = "code"
	// LinkNone leaves out the link.
	LinkNone LinkMode = "none"
)

// Channel is a configured way to notify people.
type Channel struct {
	Name string      `json:"name"`
	Kind ChannelKind `json:"kind"`
	// Links is absent for the channel to browsers, whose messages open the inbox.
	Links LinkMode `json:"links,omitempty"`
	// Pending counts messages that are not sent or withdrawn yet, and Failed counts messages that were given up.
	Pending int64 `json:"pending"`
	Failed  int64 `json:"failed"`
	// LastError is the error of the newest message that is retried, or else of the newest that was given up, or why no
	// presses of buttons arrive at this replica.
	LastError string `json:"last_error,omitempty"`
}

// ChannelList lists all channels.
type ChannelList struct {
	Data []Channel `json:"data"`
}

// TestChannelBody sends a test message.
type TestChannelBody struct {
	Address string `json:"address" body:"required"`
}

// ChannelTest is the result of a test message.
type ChannelTest struct {
	Delivered bool   `json:"delivered"`
	Error     string `json:"error,omitempty"`
}
