package timbal_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// service is a whole service with the dialect in it.
type service struct{ *dialecttest.Service }

func serve(tb testing.TB, store runs.Store) *service {
	tb.Helper()
	return &service{dialecttest.Serve(tb, store, timbal.New(timbal.Options{DefaultAgentID: "assistant"}),
		func(o *httpapi.Options) { o.KeepAlive, o.Sealer = 300*time.Millisecond, sealer(tb) })}
}

// record reads a run from the store.
func (s *service) record(t *testing.T, runID string) *model.RunRecord {
	t.Helper()
	record, err := s.Store.Run(t.Context(), runID)
	require.NoError(t, err)
	return record
}

// sealer encrypts sensitive answers.
func sealer(tb testing.TB) runs.Sealer {
	tb.Helper()
	keys, err := sealing.Parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	require.NoError(tb, err)
	return keys
}

// TestTimbal runs every case against one service on every engine.
func TestTimbal(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		s := serve(t, database.Open(t))
		for _, one := range []struct {
			name string
			run  func(*testing.T, *service)
		}{
			{"an approval and an interaction", testAnApprovalAndAnInteraction},
			{"an approval alone", testAnApprovalAlone},
			{"what a worker appends", testWhatAWorkerAppends},
			{"how a run ends", testHowARunEnds},
			{"start", testStart},
			{"start again with its key", testStartAgainWithItsKey},
			{"a dropped client", testADroppedClient},
			{"keep alive", testKeepAlive},
			{"answer", testAnswer},
			{"answers to a structured question", testAnswersToAStructuredQuestion},
			{"answers that do not do", testAnswersThatDoNotDo},
			{"decisions about an approval", testDecisionsAboutAnApproval},
			{"decisions that do not do", testDecisionsThatDoNotDo},
			{"cancel by a request", testCancelByARequest},
			{"partial maps", testPartialMaps},
			{"unknown ids", testUnknownIds},
			{"refused resumes", testRefusedResumes},
			{"too late", testTooLate},
			{"too late for the clock", testTooLateForTheClock},
			{"resume again with its key", testResumeAgainWithItsKey},
			{"key of a refused resume", testKeyOfARefusedResume},
			{"follow what was decided elsewhere", testFollowWhatWasDecidedElsewhere},
			{"several questions", testSeveralQuestions},
			{"several questions at once", testSeveralQuestionsAtOnce},
			{"a sensitive part", testASensitivePart},
			{"parts that do not fit", testPartsThatDoNotFit},
			{"two segments", testTwoSegments},
			{"a chosen id belongs to no segment", testAChosenIDIsNoSegments},
			{"a named resume", testANamedResume},
			{"a name in use", testANameInUse},
			{"a name of no decision", testANameOfNoDecision},
			{"a named part", testANamedPart},
			{"a long segment", testALongSegment},
			{"a grant is not shown", testAGrantIsNotShown},
			{"settled when raised", testSettledWhenRaised},
			{"attached worker", testAttachedWorker},
			{"a run of another face", testARunOfAnotherFace},
			{"run", testRun},
			{"events", testEvents},
			{"cancel", testCancel},
			{"live and read", testLiveAndRead},
			{"conversation", testConversation},
			{"conversation with another face", testConversationWithAnotherFace},
			{"conversation with a key", testConversationWithAKey},
			{"conversation too long", testConversationTooLong},
			{"a message over a paused run", testAMessageOverAPausedRun},
			{"a message to an ended session", testAMessageToAnEndedSession},
			{"an agent with a dot", testAnAgentWithADot},
			{"a question of a kind", testAQuestionOfAKind},
			{"clarification", testClarification},
			{"approvals of children", testApprovalsOfChildren},
			{"children and a paused run", testChildrenAndAPausedRun},
		} {
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				one.run(t, s)
			})
		}
	})
}

// nextMs returns in a later millisecond of the store: decisions of the same one, with events that follow each other, are
// one segment in the log.
func (s *service) nextMs(t *testing.T) {
	t.Helper()
	began, err := s.Store.NowMs(t.Context())
	for nowMs := began; nowMs <= began; {
		require.NoError(t, err)
		nowMs, err = s.Store.NowMs(t.Context())
	}
}

func key(value string) dialecttest.Option { return dialecttest.Header("Idempotency-Key", value) }

func actor(name string) dialecttest.Option { return dialecttest.Header("X-Actor", name) }

// reply is a reply that is not a stream; body is nil unless it is an object.
type reply struct {
	*dialecttest.Reply
	body map[string]any
}

func (s *service) do(t *testing.T, method, path, body string, options ...dialecttest.Option) *reply {
	t.Helper()
	return replyOf(s.Do(t, method, path, body, options...))
}

func replyOf(answer *dialecttest.Reply) *reply {
	object, _ := answer.Body.(map[string]any)
	return &reply{answer, object}
}

// later sends a request whose answer is held. The returned function waits for the answer.
func (s *service) later(t *testing.T, method, path, body string) func() *reply {
	t.Helper()
	type result struct {
		answer *dialecttest.Reply
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := s.Try(t, method, path, body)
		done <- result{answer, err}
	}()
	return func() *reply {
		t.Helper()
		got := <-done
		require.NoError(t, got.err)
		return replyOf(got.answer)
	}
}

// settled returns the resolution of a request.
func (s *service) settled(t *testing.T, handle string) (api.Outcome, api.Resolution) {
	t.Helper()
	found, err := s.Store.RequestByHandle(t.Context(), handle)
	require.NoError(t, err)
	if found.Request.Open() {
		return "", api.Resolution{}
	}
	return found.Request.Outcome, found.Request.Recorded()
}

// events reads the frames of a run.
func (s *service) events(t *testing.T, runID, query string) *reply {
	t.Helper()
	answer := s.do(t, http.MethodGet, "/runs/"+runID+"/events"+query, "")
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Text)
	return answer
}

// sameInLog checks that the list of events equals the stream. The parent is compared separately,
// because the log does not contain it when it was not the newest run.
func (s *service) sameInLog(t *testing.T, events []*event) {
	t.Helper()
	runID := events[0].at("run_id").(string)
	answer := s.events(t, runID, "?limit=2000")
	list, _ := answer.body["events"].([]any)
	require.Len(t, list, len(events), "%s", answer.Text)
	for i, one := range events {
		logged, _ := list[i].(map[string]any)
		require.Equal(t, float64(one.seq), logged["seq"])
		require.Equal(t, any(one.map_), logged["data"])
	}
	require.Equal(t, true, answer.body["done"])
	require.Equal(t, false, answer.body["expired"])
	require.Equal(t, float64(len(events)), answer.body["next_cursor"])
}
