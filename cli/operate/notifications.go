package operate

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// Me is holdpoint me.
type Me struct {
	Addresses  addresses  `cmd:"" help:"Manage the addresses at which you are notified."`
	QuietHours quietHours `cmd:"" help:"Say at which times of the day you get no messages."`
}

type addresses struct {
	List   list[api.Address, addressFilter] `cmd:"" help:"List your addresses."`
	Add    show[api.Address, addressAdd]    `cmd:"" help:"Add an address: a code is sent to it."`
	Verify show[api.Address, addressVerify] `cmd:"" help:"Verify an address by its code."`
	Remove addressesRemove                  `cmd:"" help:"Delete an address."`
}

type addressFilter struct{}

func (addressFilter) read(ctx context.Context, c *client.Client) ([]api.Address, error) {
	found, err := c.ListAddresses(ctx)
	if err != nil {
		return nil, err
	}
	return found.Data, nil
}

func (addressFilter) table() table[api.Address] {
	return table[api.Address]{
		header: []string{"ADDRESS ID", "CHANNEL", "ADDRESS", "VERIFIED", "ADDED"},
		row: func(a *api.Address, now time.Time) []string {
			verified := "no"
			if a.VerifiedAtMs != 0 {
				verified = console.Ago(a.VerifiedAtMs, now)
			}
			return []string{a.AddressID, a.Channel, console.Cut(a.Address, 60), verified, console.Ago(a.CreatedAtMs, now)}
		},
	}
}

// addressShown describes an address.
type addressShown struct{}

func (addressShown) fields(a *api.Address, now time.Time) []console.Field {
	verified := "no: type the code that was sent to it"
	if a.VerifiedAtMs != 0 {
		verified = console.Moment(a.VerifiedAtMs, now)
	}
	return []console.Field{{"address id", a.AddressID}, {"channel", a.Channel}, {"address", a.Address}, {"verified", verified}}
}

type addressAdd struct {
	addressShown
	Channel string `arg:"" help:"The name of a channel."`
	Address string `arg:"" help:"What the channel takes, such as ada@example.com."`
	For     string `placeholder:"PRINCIPAL" help:"Add it for this person, such as user:ada, who verifies it. Needs the role admin."`
}

func (a addressAdd) find(ctx context.Context, c *client.Client) (*api.Address, error) {
	return c.AddAddress(ctx, api.AddressBody{Channel: a.Channel, Address: a.Address, Principal: a.For})
}

type addressVerify struct {
	addressShown
	AddressID string `arg:"" name:"address-id" help:"The address's id."`
	Code      string `arg:"" help:"The code that was sent to it."`
}

func (a addressVerify) find(ctx context.Context, c *client.Client) (*api.Address, error) {
	return c.VerifyAddress(ctx, a.AddressID, a.Code)
}

type addressesRemove struct {
	console.Reporting
	AddressID string `arg:"" name:"address-id" help:"The address's id."`
}

// Run deletes an address.
func (c *addressesRemove) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		if err := opened.RemoveAddress(ctx, c.AddressID); err != nil {
			return err
		}
		return printDeleted(terminal, c.JSON, "address", c.AddressID)
	})
}

// Channels is holdpoint channels.
type Channels struct {
	List list[api.Channel, channelFilter] `cmd:"" help:"List the channels by which people are told."`
	Test channelsTest                     `cmd:"" help:"Send a test message, once."`
}

type channelFilter struct{}

func (channelFilter) read(ctx context.Context, c *client.Client) ([]api.Channel, error) {
	found, err := c.ListChannels(ctx)
	if err != nil {
		return nil, err
	}
	return found.Data, nil
}

func (channelFilter) table() table[api.Channel] {
	return table[api.Channel]{
		header: []string{"CHANNEL", "KIND", "LINKS", "PENDING", "FAILED", "LAST ERROR"},
		row: func(channel *api.Channel, _ time.Time) []string {
			return []string{
				channel.Name, string(channel.Kind), string(channel.Links), strconv.FormatInt(channel.Pending, 10), strconv.FormatInt(channel.Failed, 10), console.Cut(channel.LastError, 60),
			}
		},
	}
}

type channelsTest struct {
	console.Reporting
	Channel string `arg:"" help:"The name of a channel."`
	Address string `arg:"" help:"Where the test message goes."`
}

// Run sends a test message. It fails when that was not delivered.
func (c *channelsTest) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		tested, err := opened.TestChannel(ctx, c.Channel, c.Address)
		if err != nil {
			return err
		}
		return printDelivered(terminal, c.JSON, tested, tested.Delivered, fmt.Errorf("the test message was not delivered: %s", tested.Error), "delivered")
	})
}
