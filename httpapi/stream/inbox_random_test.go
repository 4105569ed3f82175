package stream

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// TestNoGhosts raises and settles requests at random while followers join and leave. Notices arrive
// immediately, late, out of order, together, or never. After each quiet period every follower shows
// exactly the open requests. Only lost notices need a poll.
func TestNoGhosts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				playGhosts(newInboxBench(t, Options{KeepAlive: time.Hour}), rand.New(rand.NewPCG(seed, 1)))
			})
		})
	}
}

func playGhosts(b *inboxBench, random *rand.Rand) {
	loses := random.IntN(2) == 0
	open := map[string][]string{}
	readers := map[*inboxReader]func(){}
	join := func() {
		reader := &inboxReader{}
		if random.IntN(3) == 0 {
			pace := time.Duration(random.IntN(40)) * time.Millisecond
			reader.takes = func() error { time.Sleep(pace); return nil }
		}
		readers[reader], _ = b.follow(reader)
	}
	join()
	next := 0
	for range 4 {
		for range 60 {
			switch session := fmt.Sprint("s", random.IntN(5)); random.IntN(8) {
			case 0:
				join()
			case 1:
				for reader, leave := range readers {
					if len(readers) > 1 {
						leave()
						delete(readers, reader)
					}
					break
				}
			case 2, 3, 4:
				next++
				steps := []string{fmt.Sprint("+", next), "."}
				open[session] = append(open[session], fmt.Sprint(next))
				b.hint(random, loses, b.board.commit(session, steps[:1+random.IntN(2)]...))
			default:
				if waiting := open[session]; len(waiting) > 0 {
					at := random.IntN(len(waiting))
					notice := b.board.commit(session, "-"+waiting[at])
					open[session] = append(waiting[:at:at], waiting[at+1:]...)
					b.hint(random, loses, notice)
				}
			}
			if random.IntN(4) == 0 {
				time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
			}
		}
		// Slow readers have up to 40 ms for each of some 60 calls.
		quiet := 5 * time.Second
		if loses {
			quiet += 2 * time.Second
		}
		time.Sleep(quiet)
		synctest.Wait()
		for reader := range readers {
			require.ElementsMatch(b, b.board.shown(), reader.shown(), reader.said())
			if !loses {
				require.NotContains(b, reader.said(), "!missed", "nothing was lost")
			}
		}
	}
	for _, leave := range readers {
		leave()
	}
}

// hint delivers a notice in one of these ways.
func (b *inboxBench) hint(random *rand.Rand, loses bool, notice reads.Notice) {
	switch way := random.IntN(10); {
	case way == 0 && loses:
	case way == 1 && loses:
		b.board.tell(reads.Notice{})
	case way < 6:
		b.board.tell(notice)
	default:
		time.AfterFunc(time.Duration(random.IntN(60))*time.Millisecond, func() { b.board.tell(far(notice)) })
	}
}
