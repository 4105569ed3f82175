package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// examples are shown by --help and in docs/cli.md, keyed by the words of the command.
// testdata/script/examples.txtar runs each one as written here.
var examples = map[string][]string{
	"demo":         {`holdpoint demo`},
	"serve":        {`holdpoint serve --database sqlite:waits.db --listen 127.0.0.1:0 --listen-file address`},
	"config print": {`holdpoint config print --log-format json`},

	"migrate up":     {`holdpoint migrate up --database sqlite:new.db`},
	"migrate down":   {`holdpoint migrate down --database sqlite:new.db --yes`},
	"migrate status": {`holdpoint migrate status --database sqlite:new.db`},
	"backup":         {`holdpoint backup --database sqlite:waits.db friday.db`},
	"secrets rewrap": {`holdpoint secrets rewrap --database sqlite:friday.db --secret-key-file holdpoint.keys`},
	"doctor":         {`holdpoint doctor --database sqlite:waits.db`},

	"intake list":  {`holdpoint intake list --database $URL`},
	"intake retry": {`holdpoint intake retry --all --database $URL`},
	"intake drop":  {`holdpoint intake drop --all --database $URL`},

	"exec": {
		`holdpoint exec --reason 'a release' -- sh -c 'echo deploying'`,
		`holdpoint exec --key release-7 --timeout 1h -- echo released`,
	},
	"ask": {
		`holdpoint ask 'Which region?' --option eu --option us`,
		`holdpoint ask 'Which version?' --timeout 1ms --default 1.4`,
	},
	"mcp":          {`holdpoint mcp --agent-id claude-code --timeout 8h`},
	"hook run":     {`holdpoint hook run --agent-id claude-code --timeout 8h`},
	"hook install": {`holdpoint hook install claude-code --dry-run`, `holdpoint hook install gemini-cli --dry-run`},
	"hook doctor":  {`holdpoint hook doctor claude-code`},
	"hook resume":  {`holdpoint hook resume claude-code -- claude -p`},
	"watch":        {`holdpoint watch --json`},

	"why": {`holdpoint why run-1`, `holdpoint why $HANDLE`},

	"approvals list": {
		`holdpoint approvals list --session-id nightly`,
		`holdpoint approvals list --decided --by ada`,
	},
	"approvals show":   {`holdpoint approvals show approval-1`},
	"approvals review": {`holdpoint approvals review --session-id nightly`},
	"approvals acknowledge": {
		`holdpoint approvals acknowledge approval-1 --for 1h`,
		`holdpoint approvals acknowledge approval-1 --snooze 2h`,
	},
	"approvals allow": {
		`holdpoint approvals allow $HANDLE $HANDLE2`,
		`holdpoint approvals allow approval-3 --run-id run-1 --updated-input-json '{"command":"ls -l"}'`,
		`holdpoint approvals allow approval-4 --run-id run-1 --remember session --yes`,
	},
	"approvals deny":      {`holdpoint approvals deny approval-5 --reason 'not on a Friday'`},
	"approvals allow-all": {`holdpoint approvals allow-all --session-id nightly --dry-run`},
	"approvals deny-all":  {`holdpoint approvals deny-all --session-id nightly --reason 'the build is red'`},

	"questions list":        {`holdpoint questions list --session-id nightly`},
	"questions show":        {`holdpoint questions show question-1`},
	"questions acknowledge": {`holdpoint questions acknowledge question-1`},
	"questions answer": {
		`holdpoint questions answer question-1 --run-id run-2 --option eu`,
		`holdpoint questions answer question-2 --declined`,
	},
	"questions cancel": {`holdpoint questions cancel question-3`},

	"rules list":    {`holdpoint rules list --all`},
	"rules add":     {`holdpoint rules add --tool bash --param 'command=git status*' --rule-id git-status --yes`},
	"rules show":    {`holdpoint rules show git-status`},
	"rules explain": {`holdpoint rules explain bash --command 'git status -s'`},
	"rules revoke":  {`holdpoint rules revoke git-status`},

	"runs list":      {`holdpoint runs list --status waiting_for_approval`},
	"runs show":      {`holdpoint runs show run-1`},
	"runs events":    {`holdpoint runs events run-1`},
	"runs cancel":    {`holdpoint runs cancel run-1 --reason 'no longer needed'`},
	"runs retry":     {`holdpoint runs retry run-7`},
	"workers list":   {`holdpoint workers list --agent-id builder`},
	"sessions list":  {`holdpoint sessions list --agent-id builder`},
	"sessions show":  {`holdpoint sessions show nightly`},
	"sessions label": {`holdpoint sessions label nightly 'Nightly build'`},

	"mailbox list":         {`holdpoint mailbox list child`},
	"mailbox dead-letters": {`holdpoint mailbox dead-letters child`},
	"mailbox replay":       {`holdpoint mailbox replay child parent-clarification-answer-q1`},
	"mailbox ack":          {`holdpoint mailbox ack child parent-clarification-answer-q1`},
	"effects list":         {`holdpoint effects list --state failed`},
	"effects retry":        {`holdpoint effects retry --all-failed`},

	"webhooks create":     {`holdpoint webhooks create https://example.com/hooks --kinds approval,question`},
	"webhooks list":       {`holdpoint webhooks list`},
	"webhooks show":       {`holdpoint webhooks show $WEBHOOK_ID`},
	"webhooks change":     {`holdpoint webhooks change $WEBHOOK_ID --session-prefixes prod.`},
	"webhooks rotate":     {`holdpoint webhooks rotate $WEBHOOK_ID --grace 1h`},
	"webhooks delete":     {`holdpoint webhooks delete $WEBHOOK_ID`},
	"webhooks test":       {`holdpoint webhooks test $WEBHOOK_ID`},
	"webhooks deliveries": {`holdpoint webhooks deliveries $WEBHOOK_ID --state failed`},
	"webhooks replay":     {`holdpoint webhooks replay $WEBHOOK_ID`},

	"me quiet-hours show":  {`holdpoint me quiet-hours show`},
	"me quiet-hours set":   {`holdpoint me quiet-hours set 22:00 07:00 --zone Europe/Berlin`},
	"me quiet-hours clear": {`holdpoint me quiet-hours clear`},
	"me addresses list":    {`holdpoint me addresses list`},
	"me addresses add":     {`holdpoint me addresses add ops ada`},
	"me addresses verify":  {`holdpoint me addresses verify $ADDRESS_ID $CODE`},
	"me addresses remove":  {`holdpoint me addresses remove $ADDRESS_ID`},
	"channels list":        {`holdpoint channels list`},
	"channels test":        {`holdpoint channels test ops ada`},

	"contexts set": {
		`holdpoint contexts set work --server https://holdpoint.example --actor ada`,
		`holdpoint contexts set home --server http://127.0.0.1:4000`,
		`holdpoint contexts set agents --server https://holdpoint.example --ca ca.pem --client-cert coder.pem --client-key coder.key`,
	},
	"contexts list":   {`holdpoint contexts list`},
	"contexts use":    {`holdpoint contexts use home`},
	"contexts remove": {`holdpoint contexts remove work`},

	"whoami": {`holdpoint whoami`},
	"tokens create": {
		`holdpoint tokens create --name admin --role admin --database sqlite:new.db`,
		`holdpoint tokens create --name builder --role agent --agent-ids builder --expires-after 720h`,
	},
	"tokens list":   {`holdpoint tokens list --state active`},
	"tokens show":   {`holdpoint tokens show $TOKEN_ID`},
	"tokens rotate": {`holdpoint tokens rotate $TOKEN_ID --grace 1h`},
	"tokens revoke": {`holdpoint tokens revoke $TOKEN_ID`},

	"audit export": {
		`holdpoint audit export --session-id nightly`,
		`holdpoint audit export --since 2026-01-01T00:00:00Z`,
	},
	"audit log":    {`holdpoint audit log`, `holdpoint audit log --limit 20 --json`},
	"audit redact": {`holdpoint audit redact nightly --event-ids 1,2 --reason asked-for --yes`},
	"audit verify": {`holdpoint audit verify audit.ndjson --keys $HOLDPOINT_SERVER/v1/keys`},

	"completion": {`holdpoint completion bash`},
	"man":        {`holdpoint man`},
	"version":    {`holdpoint version`},
}

// addExamples appends its examples to the help of each command.
func addExamples(node *kong.Node, path []string) {
	for _, child := range node.Children {
		words := slices.Concat(path, []string{child.Name})
		if lines := examples[strings.Join(words, " ")]; len(lines) > 0 {
			child.Detail = strings.TrimSpace(child.Detail + "\n\nFor example:\n\n  " + strings.Join(lines, "\n  "))
		}
		addExamples(child, words)
	}
}
