// Package pushpeer is a push service on loopback with browsers that read what comes: it checks the
// signature of each message and decrypts it (RFC 8030, 8188, 8291 and 8292), written apart from the
// library that sends.
//
// Only tests import it. It must not know the service that sends.
package pushpeer

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/holdpoint/holdpoint/api"
)

// Message is what a browser got.
type Message struct {
	Title    string `json:"title"`
	Body     string `json:"body"`
	Navigate string `json:"navigate"`
	Tag      string `json:"tag"`
	Silent   bool   `json:"silent"`
	Data     struct {
		ID     string `json:"id"`
		Handle string `json:"handle"`
		AtMs   int64  `json:"at_ms"`
	} `json:"data"`

	TTLSeconds int64  `json:"-"`
	Urgency    string `json:"-"`
	Topic      string `json:"-"`
	// Text is the whole decrypted message.
	Text string `json:"-"`
}

// Service is a push service that runs until the test ends.
type Service struct {
	URL string
	tb  testing.TB
	// gone ends calls that hang.
	gone chan struct{}

	mu       sync.Mutex
	browsers map[string]*Browser
}

// Start starts a push service.
func Start(tb testing.TB) *Service {
	tb.Helper()
	s := &Service{tb: tb, gone: make(chan struct{}), browsers: map[string]*Browser{}}
	server := httptest.NewServer(s)
	s.URL = server.URL
	tb.Cleanup(server.Close)
	tb.Cleanup(func() { close(s.gone) })
	return s
}

// Browser is a browser that subscribes with a service's key.
type Browser struct {
	service   *Service
	path      string
	private   *ecdh.PrivateKey
	auth      []byte
	publicKey string

	// status is the answer to messages, 201 if 0.
	status   int
	hangs    bool
	accepted func(Message)
	messages []Message
}

// Browser returns a new browser. publicKey is the applicationServerKey that it subscribes with.
func (s *Service) Browser(publicKey string) *Browser {
	s.tb.Helper()
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.tb.Fatal(err)
	}
	b := &Browser{service: s, private: private, auth: make([]byte, 16), publicKey: publicKey}
	if _, err := rand.Read(b.auth); err != nil {
		s.tb.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.path = fmt.Sprintf("/push/%d", len(s.browsers))
	s.browsers[b.path] = b
	return b
}

// Subscription is the browser's PushSubscription as JSON.
func (b *Browser) Subscription() api.PushBody {
	encode := base64.RawURLEncoding.EncodeToString
	return api.PushBody{
		Endpoint: b.service.URL + b.path,
		Keys:     api.PushKeys{P256dh: encode(b.private.PublicKey().Bytes()), Auth: encode(b.auth)},
	}
}

// Answers sets the status of later answers; 0 takes the message.
func (b *Browser) Answers(status int) { b.set(func() { b.status = status }) }

// Hangs sets whether later calls are never answered.
func (b *Browser) Hangs(hangs bool) { b.set(func() { b.hangs = hangs }) }

// Accepted sets what is called after a message was kept and before the push service answers. If it does not return, there
// is no answer.
func (b *Browser) Accepted(call func(Message)) { b.set(func() { b.accepted = call }) }

func (b *Browser) set(change func()) {
	b.service.mu.Lock()
	defer b.service.mu.Unlock()
	change()
}

// Messages returns what came, oldest first.
func (b *Browser) Messages() (messages []Message) {
	b.set(func() { messages = slices.Clone(b.messages) })
	return messages
}

// ServeHTTP takes a message for a browser.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.browsers[r.URL.Path]
	s.mu.Unlock()
	if b == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var status int
	var hangs bool
	b.set(func() { status, hangs = b.status, b.hangs })
	if hangs {
		<-s.gone
		return
	}
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	message, err := b.read(r, body)
	if err != nil {
		s.tb.Errorf("a message that a push service refuses: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var accepted func(Message)
	b.set(func() { b.messages, accepted = append(b.messages, *message), b.accepted })
	if accepted != nil {
		accepted(*message)
	}
	w.WriteHeader(http.StatusCreated)
}

// maxBody is what push services take at least.
const maxBody = 4096

// maxTopic is the longest topic.
const maxTopic = 32

func (b *Browser) read(r *http.Request, body []byte) (*Message, error) {
	if r.Method != http.MethodPost || r.Header.Get("Content-Encoding") != "aes128gcm" || len(body) > maxBody {
		return nil, fmt.Errorf("%s, %s, %d bytes", r.Method, r.Header.Get("Content-Encoding"), len(body))
	}
	if err := b.authentic(r.Header.Get("Authorization")); err != nil {
		return nil, err
	}
	text, err := b.decrypt(body)
	if err != nil {
		return nil, err
	}
	document := struct {
		WebPush      int      `json:"web_push"`
		Notification *Message `json:"notification"`
	}{}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	ttl, err := strconv.ParseInt(r.Header.Get("TTL"), 10, 64)
	topic := r.Header.Get("Topic")
	if err != nil || document.WebPush != 8030 || document.Notification == nil || len(topic) > maxTopic {
		return nil, fmt.Errorf("ttl %q, topic %q, message %s", r.Header.Get("TTL"), topic, text)
	}
	message := document.Notification
	message.TTLSeconds, message.Urgency, message.Topic, message.Text = ttl, r.Header.Get("Urgency"), topic, string(text)
	return message, nil
}

// authentic checks that the header is signed by the key that the browser subscribed with, for this
// push service, now.
func (b *Browser) authentic(header string) error {
	token, key, found := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if !found || key != b.publicKey {
		return errors.New("not the key of the subscription")
	}
	bytes, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		return err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), bytes)
	if err != nil {
		return err
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return err
	}
	payload, err := signed.Verify(public)
	if err != nil {
		return err
	}
	var claims struct {
		Aud string `json:"aud"`
		Sub string `json:"sub"`
		Exp int64  `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return err
	}
	left := time.Until(time.Unix(claims.Exp, 0))
	contact := strings.HasPrefix(claims.Sub, "https://") || strings.HasPrefix(claims.Sub, "mailto:")
	if claims.Aud != b.service.URL || !contact || left <= 0 || left > 24*time.Hour {
		return fmt.Errorf("claims %+v", claims)
	}
	return nil
}

// decrypt opens a body of one record.
func (b *Browser) decrypt(body []byte) ([]byte, error) {
	const saltLength, head = 16, 16 + 4 + 1
	if len(body) < head || len(body) < head+int(body[head-1]) {
		return nil, errors.New("the body is too short")
	}
	salt, record := body[:saltLength], int(binary.BigEndian.Uint32(body[saltLength:]))
	sender, sealed := body[head:head+int(body[head-1])], body[head+int(body[head-1]):]
	if len(sealed) > record {
		return nil, errors.New("more than one record")
	}
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	shared, err := b.private.ECDH(public)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(b.private.PublicKey().Bytes()) + string(sender)
	material, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, material, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, material, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	opener, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := opener.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(string(padded), "\x00")
	if !strings.HasSuffix(text, "\x02") {
		return nil, errors.New("the last record has no end")
	}
	return []byte(strings.TrimSuffix(text, "\x02")), nil
}
